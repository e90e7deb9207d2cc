import type { ReactNode } from 'react'
import { textOfValue } from '../../../../src/shared/list-text.ts'
import { parseIsoTimestamp } from '../../../../src/shared/timestamps.ts'
import type { Parameter } from '../../api/shapes.ts'
import { fromLocalInput, toLocalInput, useZone } from '../../ui/text/instants.ts'
import { ListControl } from './list-control.tsx'

interface Attributes {
  id: string
  className: string
  'aria-invalid'?: boolean | undefined
  'aria-describedby'?: string | undefined
}

interface ParameterControlProps extends Omit<Attributes, 'className'> {
  name: string
  parameter: Parameter
  value: string | undefined
  /** Whether lines of a list count once the field is left. */
  isSettled?: boolean
  onChange: (value: string | undefined) => void
  /** For what is typed as text. */
  text: (attributes: Attributes) => ReactNode
}

/** As the service reads it: without an offset, a time is in UTC. */
function millisecondsOf(timestamp: string): number {
  const micros = parseIsoTimestamp(timestamp)
  return micros === undefined ? Date.parse(timestamp) : Number(micros / 1000n)
}

/** The control of a parameter, by its type. */
export function ParameterControl(props: ParameterControlProps) {
  const { name, parameter, value, isSettled = false, onChange, text, ...rest } = props
  const { type = 'string', required, default: preset, enum: allowed, example } = parameter
  const common = { ...rest, className: 'input' }
  const zone = useZone()
  const choices = allowed?.map(String) ?? (type === 'boolean' ? ['true', 'false'] : undefined)
  if (type === 'list') {
    const placeholder = textOfValue(preset ?? example ?? '')
    return <ListControl {...common} {...{ name, choices, value, placeholder, isSettled, onChange }} />
  }
  if (choices) {
    return (
      <select {...common} value={value ?? ''} onChange={({ target }) => onChange(target.value || undefined)}>
        <option value="">
          {preset !== undefined ? `${preset} (default)` : required ? 'Choose …' : 'Not set'}
        </option>
        {value !== undefined && !choices.includes(value) && <option>{value}</option>}
        {choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    )
  }
  if (type === 'date') {
    return (
      <input
        {...common}
        type="date"
        value={value ?? ''}
        onChange={({ target }) => onChange(target.value || undefined)}
      />
    )
  }
  if (type === 'timestamp') {
    return (
      <input
        {...common}
        type="datetime-local"
        step={1}
        value={value ? toLocalInput(millisecondsOf(value), zone) : ''}
        onChange={({ target }) => {
          const ms = fromLocalInput(target.value, zone)
          onChange(ms === undefined ? undefined : new Date(ms).toISOString())
        }}
      />
    )
  }
  return text(common)
}
