import { type ComponentProps, useEffect, useId, useState } from 'react'
import { hasFeature } from '../../api/features.ts'
import type { Dashboard, Parameter } from '../../api/shapes.ts'
import { Button } from '../../ui/button.tsx'
import { ParameterControl } from '../run/parameter-control.tsx'
import { orderedNames, ranges, timeRangeOf } from './model.ts'

interface ParameterBarProps {
  parameters: Readonly<Record<string, Parameter>>
  values: Record<string, string>
  fixed: Record<string, string>
  address: URLSearchParams
  refresh: Dashboard['refresh']
  onAddress: (changes: Record<string, string | undefined>) => void
  onReload: () => void
}

const refreshes = [
  ['off', 'Off'],
  ...(hasFeature('live') ? [['live', 'Live'] as const] : []),
  ['10', 'Every 10 s'],
  ['60', 'Every minute'],
  ['300', 'Every 5 minutes'],
] as const

/** One field for each parameter that the viewer can choose, the time range first. */
export function ParameterBar(props: ParameterBarProps) {
  const { parameters, values, fixed, address, refresh, onAddress, onReload } = props
  const range = timeRangeOf(parameters)
  const hasStart = range !== undefined && (address.has(range.start) || Object.hasOwn(fixed, range.start))
  const isCustom = address.get('_range') === 'custom' || hasStart
  const chosen = isCustom ? 'custom' : (address.get('_range') ?? '')
  const names = orderedNames(parameters).filter((name) => !Object.hasOwn(fixed, name))
  const isOfRange = (name: string) => name === range?.start || name === range?.end
  const current = refresh === null ? 'off' : String(refresh)
  const isKnown = refreshes.some(([value]) => value === current)
  return (
    <div className="parameter-bar" role="group" aria-label="Parameters">
      {range && !Object.hasOwn(fixed, range.start) && (
        <Labelled label="Time range">
          {(id) => (
            <select
              id={id}
              className="input"
              value={chosen}
              onChange={({ target: { value } }) =>
                onAddress({
                  _range: value || undefined,
                  [range.start]: value === 'custom' ? values[range.start] : undefined,
                  ...(range.end !== undefined && { [range.end]: undefined }),
                })
              }
            >
              <option value="">
                {parameters[range.start]?.required ? 'Last 24 hours (default)' : 'Default'}
              </option>
              {ranges.map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
              <option value="custom">Custom …</option>
            </select>
          )}
        </Labelled>
      )}
      {names
        .filter((name) => !isOfRange(name) || isCustom)
        .map((name) => (
          <Labelled key={name} label={name}>
            {(id) => (
              <ParameterControl
                id={id}
                name={name}
                parameter={parameters[name] as Parameter}
                value={address.get(name) ?? (isOfRange(name) ? values[name] : undefined)}
                isSettled
                onChange={(value) => onAddress({ [name]: value })}
                text={(attributes) => (
                  <SettledInput
                    {...attributes}
                    placeholder={placeholderOf(parameters[name] as Parameter)}
                    value={address.get(name) ?? (isOfRange(name) ? (values[name] ?? '') : '')}
                    onText={(text) => onAddress({ [name]: text || undefined })}
                  />
                )}
              />
            )}
          </Labelled>
        ))}
      {Object.entries(fixed)
        .filter(([name]) => Object.hasOwn(parameters, name))
        .map(([name, value]) => (
          <div className="field" key={name}>
            <span className="label">{name}</span>
            <b>{value}</b>
          </div>
        ))}
      <Labelled label="Refresh">
        {(id) => (
          <select
            id={id}
            className="input"
            value={current}
            onChange={({ target }) => onAddress({ _refresh: target.value })}
          >
            {refreshes.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
            {!isKnown && <option value={current}>Every {current} s</option>}
          </select>
        )}
      </Labelled>
      {refresh !== 'live' && (
        <Button icon="reload" onClick={onReload}>
          Reload
        </Button>
      )}
    </div>
  )
}

const placeholderOf = ({ default: preset, example, required }: Parameter) =>
  String(preset ?? example ?? (required ? 'required' : ''))

function Labelled({ label, children }: { label: string; children: (id: string) => React.ReactNode }) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children(id)}
    </div>
  )
}

/** Reports the text when the field is left or Enter is pressed, so that no panel loads half a word. */
function SettledInput({
  value,
  onText,
  ...rest
}: ComponentProps<'input'> & { value: string; onText: (text: string) => void }) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  return (
    <input
      {...rest}
      spellCheck={false}
      autoComplete="off"
      value={text}
      onChange={({ target }) => setText(target.value)}
      onBlur={() => text !== value && onText(text)}
      onKeyDown={({ key }) => key === 'Enter' && text !== value && onText(text)}
    />
  )
}
