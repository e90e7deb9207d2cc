import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { textOfValue } from '../../../../src/shared/list-text.ts'
import type { Parameter } from '../../api/shapes.ts'
import { Button } from '../../ui/button.tsx'
import { CheckField, SelectField, TextField } from '../../ui/fields.tsx'
import { parameterTypes } from './sql-parameters.ts'

interface ParameterEditorProps {
  name: string
  parameter: Parameter
  onChange: (parameter: Parameter) => void
  onRemove: () => void
  onClose: () => void
}

/** The declaration of a parameter. Changes apply at once to the draft. */
export function ParameterEditor({ name, parameter, onChange, onRemove, onClose }: ParameterEditorProps) {
  const fields = useRef<HTMLFieldSetElement>(null)
  useEffect(() => fields.current?.querySelector('select')?.focus(), [])
  const set = (changes: { [key in keyof Parameter]?: Parameter[key] | undefined }) =>
    onChange(
      Object.fromEntries(
        Object.entries({ ...parameter, ...changes }).filter(([, value]) => value !== undefined),
      ) as Parameter,
    )
  const onKeyDown = (event: KeyboardEvent) => {
    const isInput = event.target instanceof HTMLInputElement && event.target.type === 'text'
    // Enter with Ctrl or Cmd runs the query.
    if (event.key !== 'Escape' && !(event.key === 'Enter' && isInput && !event.ctrlKey && !event.metaKey))
      return
    event.preventDefault()
    onClose()
  }
  return (
    <fieldset className="parameter-editor" ref={fields} onKeyDown={onKeyDown}>
      <legend className="mono">@{name}</legend>
      <SelectField
        label="Type"
        value={parameter.type ?? 'string'}
        options={parameterTypes.map((type) => [type] as const)}
        onChange={(type) => set({ type, ...(type !== 'list' && { of: undefined }) })}
      />
      <CheckField
        label="Required"
        checked={parameter.required ?? false}
        onChange={(required) => set({ required, ...(required && { default: undefined }) })}
      />
      <TextField
        label="Default"
        type="text"
        value={textOfValue(parameter.default ?? '')}
        disabled={parameter.required === true}
        onChange={(text) => set({ default: text === '' ? undefined : text })}
      />
      <TextField
        label="Example"
        type="text"
        value={textOfValue(parameter.example ?? '')}
        onChange={(text) => set({ example: text === '' ? undefined : text })}
      />
      <div className="wide stack">
        <AllowedValues allowed={parameter.enum} onChange={(allowed) => set({ enum: allowed })} />
        <TextField
          label="Description"
          type="text"
          value={parameter.description ?? ''}
          onChange={(description) => set({ description })}
        />
      </div>
      <div className="actions">
        <Button look="small" onClick={onClose}>
          Done
        </Button>
        <Button look="small plain" aria-label={`Remove the declaration of ${name}`} onClick={onRemove}>
          Remove
        </Button>
      </div>
    </fieldset>
  )
}

interface AllowedValuesProps {
  allowed: Parameter['enum']
  onChange: (allowed: Parameter['enum'] | undefined) => void
}

/** The text is kept as it is typed, because the values do not contain a comma at its end. */
function AllowedValues({ allowed, onChange }: AllowedValuesProps) {
  const [text, setText] = useState(allowed?.join(', ') ?? '')
  return (
    <TextField
      label="Allowed values"
      type="text"
      note="Separated by commas. Empty: any value."
      value={text}
      onChange={(next) => {
        setText(next)
        const values = next.split(',').map((value) => value.trim())
        const given = values.filter((value) => value !== '')
        onChange(given.length > 0 ? given : undefined)
      }}
    />
  )
}
