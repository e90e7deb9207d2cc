import { useId } from 'react'
import type { Parameter, ParameterType } from '../api/api-types.ts'
import type { EndpointDraft } from './endpoint-draft.ts'

const types: ParameterType[] = ['string', 'integer', 'number', 'boolean', 'timestamp', 'regex']

export interface EndpointSettingsProps {
  draft: EndpointDraft
  /** Parameters that the SQL uses. */
  used: readonly string[]
  /** Whether name and description are among them. */
  named: boolean
  onChange: (draft: EndpointDraft) => void
}

export function EndpointSettings({ draft, used, named, onChange }: EndpointSettingsProps) {
  const set = (fields: Partial<EndpointDraft>) => onChange({ ...draft, ...fields })
  const setParameter = (name: string, parameter: Parameter | undefined) => {
    const { [name]: _, ...others } = draft.parameters
    // In its place, so that the cards do not jump.
    const all = Object.entries(draft.parameters).map(
      ([key, old]) => [key, key === name && parameter ? parameter : old] as const,
    )
    const next =
      parameter === undefined
        ? others
        : Object.hasOwn(draft.parameters, name)
          ? Object.fromEntries(all)
          : { ...others, [name]: parameter }
    set({ parameters: next })
  }
  const missing = used.filter((name) => !Object.hasOwn(draft.parameters, name))
  return (
    <div className="stack">
      {named && <NameFields draft={draft} onChange={onChange} />}
      <div className="card card-body">
        <div className="form-grid">
          <Whole
            label="Most rows"
            value={draft.max_rows}
            onChange={(value) => set({ max_rows: value ?? 1000 })}
          />
          <Whole
            label="Time limit, seconds"
            value={draft.timeout_seconds}
            onChange={(value) => set({ timeout_seconds: value ?? 30 })}
          />
          <Whole
            label="Keep results, seconds"
            note="Empty: every call runs the query."
            value={draft.cache_seconds}
            onChange={(value) => set({ cache_seconds: value, ...(value === null && { warm_seconds: null }) })}
          />
          <Whole
            label="Renew ahead, seconds"
            note="Empty: when somebody asks."
            value={draft.warm_seconds}
            disabled={draft.cache_seconds === null}
            onChange={(value) => set({ warm_seconds: value })}
          />
        </div>
        <label className="check">
          <input
            type="checkbox"
            checked={draft.sandbox}
            onChange={(event) => set({ sandbox: event.target.checked })}
          />
          Callers may send a SELECT of their own over the views of this query
        </label>
      </div>
      <div className="card">
        <div className="card-head">
          <h2>Declared parameters</h2>
          <div className="actions">
            {missing.map((name) => (
              <button
                key={name}
                type="button"
                className="button small"
                onClick={() => setParameter(name, {})}
              >
                Declare @{name}
              </button>
            ))}
          </div>
        </div>
        <div className="card-body">
          {Object.keys(draft.parameters).length === 0 && (
            <p className="faint">
              None. Write <code>@name</code> in the SQL to use one; declare it to make it required, typed or
              limited.
            </p>
          )}
          {Object.entries(draft.parameters).map(([name, parameter]) => (
            <ParameterCard
              key={name}
              name={name}
              parameter={parameter}
              onChange={(next) => setParameter(name, next)}
              onRemove={() => setParameter(name, undefined)}
            />
          ))}
        </div>
      </div>
    </div>
  )
}

export function NameFields({ draft, onChange }: Pick<EndpointSettingsProps, 'draft' | 'onChange'>) {
  return (
    <div className="form-grid">
      <Text
        label="Name"
        note="In the address of every call."
        value={draft.name}
        onChange={(name) => onChange({ ...draft, name: name.trim() })}
      />
      <Text
        label="Description"
        value={draft.description}
        onChange={(description) => onChange({ ...draft, description })}
      />
    </div>
  )
}

interface ParameterCardProps {
  name: string
  parameter: Parameter
  onChange: (parameter: Parameter) => void
  onRemove: () => void
}

function ParameterCard({ name, parameter, onChange, onRemove }: ParameterCardProps) {
  const id = useId()
  const set = (fields: { [key in keyof Parameter]?: Parameter[key] | undefined }) =>
    onChange(
      Object.fromEntries(
        Object.entries({ ...parameter, ...fields }).filter(([, value]) => value !== undefined),
      ) as Parameter,
    )
  return (
    <fieldset className="parameter-card">
      <legend className="mono">@{name}</legend>
      <div className="field">
        <label htmlFor={id}>Type</label>
        <select
          id={id}
          className="input"
          value={parameter.type ?? 'string'}
          onChange={(event) => set({ type: event.target.value as ParameterType })}
        >
          {types.map((type) => (
            <option key={type}>{type}</option>
          ))}
        </select>
      </div>
      <Text
        label="Allowed values"
        note="With commas between them; empty: any."
        value={parameter.enum?.join(', ') ?? ''}
        onChange={(text) => {
          const values = text.split(',').map((value) => value.trim())
          set({ enum: text.trim() === '' ? undefined : values })
        }}
      />
      <Text
        label="Default"
        value={String(parameter.default ?? '')}
        disabled={parameter.required === true}
        onChange={(text) => set({ default: text === '' ? undefined : text })}
      />
      <Text
        label="Description"
        value={parameter.description ?? ''}
        onChange={(description) => set({ description })}
      />
      <div className="actions">
        <label className="check">
          <input
            type="checkbox"
            checked={parameter.required ?? false}
            onChange={(event) =>
              set({ required: event.target.checked, ...(event.target.checked && { default: undefined }) })
            }
          />
          Required
        </label>
        <button
          type="button"
          className="button small plain"
          onClick={onRemove}
          aria-label={`Remove the declaration of ${name}`}
        >
          Remove
        </button>
      </div>
    </fieldset>
  )
}

interface TextProps {
  label: string
  value: string
  note?: string
  disabled?: boolean
  onChange: (value: string) => void
}

function Text({ label, value, note, disabled = false, onChange }: TextProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className="input"
        value={value}
        disabled={disabled}
        onChange={(event) => onChange(event.target.value)}
      />
      {note !== undefined && <span className="note">{note}</span>}
    </div>
  )
}

function Whole({
  value,
  onChange,
  ...props
}: Omit<TextProps, 'value' | 'onChange'> & {
  value: number | null
  onChange: (value: number | null) => void
}) {
  return (
    <Text
      {...props}
      value={value === null ? '' : String(value)}
      onChange={(text) => {
        if (/^\d{0,8}$/.test(text)) onChange(text === '' ? null : Number(text))
      }}
    />
  )
}
