import type { Parameter } from '../api/shapes.ts'
import { CheckField, SelectField, TextField } from '../ui/fields.tsx'
import type { EndpointDraft } from './endpoint-draft.ts'

const types = ['string', 'integer', 'number', 'boolean', 'timestamp', 'regex'] as const

interface EndpointSettingsProps {
  draft: EndpointDraft
  /** Parameters that the SQL uses. */
  used: readonly string[]
  /** Whether to show name and description. */
  named: boolean
  onChange: (draft: EndpointDraft) => void
}

export function EndpointSettings({ draft, used, named, onChange }: EndpointSettingsProps) {
  const { parameters } = draft
  const set = (fields: Partial<EndpointDraft>) => onChange({ ...draft, ...fields })
  // An existing key keeps its position, so that the cards do not move.
  const setParameter = (name: string, parameter: Parameter) =>
    set({ parameters: { ...parameters, [name]: parameter } })
  const remove = (name: string) => {
    const { [name]: _, ...others } = parameters
    set({ parameters: others })
  }
  const missing = used.filter((name) => !Object.hasOwn(parameters, name))
  return (
    <div className="stack">
      {named && <NameFields draft={draft} onChange={onChange} />}
      <div className="card card-body">
        <div className="form-grid">
          <NumberField
            label="Row limit"
            value={draft.max_rows}
            onChange={(value) => set({ max_rows: value ?? 1000 })}
          />
          <NumberField
            label="Timeout, seconds"
            value={draft.timeout_seconds}
            onChange={(value) => set({ timeout_seconds: value ?? 30 })}
          />
          <NumberField
            label="Cache lifetime, seconds"
            note="Empty: every request runs the query."
            value={draft.cache_seconds}
            onChange={(value) => set({ cache_seconds: value, ...(value === null && { warm_seconds: null }) })}
          />
          <NumberField
            label="Refresh every, seconds"
            note="Empty: only on request."
            value={draft.warm_seconds}
            disabled={draft.cache_seconds === null}
            onChange={(value) => set({ warm_seconds: value })}
          />
        </div>
        <CheckField
          label="Allow requests to send their own SELECT over the views of this query"
          checked={draft.sandbox}
          onChange={(sandbox) => set({ sandbox })}
        />
        <CheckField
          label="Refuse requests with parameters that this endpoint does not have"
          checked={draft.strict}
          onChange={(strict) => set({ strict })}
        />
        <div>
          <CheckField
            label="Published to tenants"
            checked={draft.published}
            onChange={(published) => set({ published })}
          />
          <p className="faint">
            Tokens with a project see it in their console and in the API description, and can request it.
            Other tokens are not affected.
          </p>
        </div>
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
          {Object.keys(parameters).length === 0 && (
            <p className="faint">
              None. Write <code>@name</code> in the SQL to use a parameter. Declare it to make it required, or
              to set its type and allowed values.
            </p>
          )}
          {Object.entries(parameters).map(([name, parameter]) => (
            <ParameterCard
              key={name}
              name={name}
              parameter={parameter}
              onChange={(next) => setParameter(name, next)}
              onRemove={() => remove(name)}
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
      <TextField
        label="Name"
        note="Part of the URL."
        value={draft.name}
        onChange={(name) => onChange({ ...draft, name: name.trim() })}
      />
      <TextField
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
  const set = (fields: { [key in keyof Parameter]?: Parameter[key] | undefined }) =>
    onChange(
      Object.fromEntries(
        Object.entries({ ...parameter, ...fields }).filter(([, value]) => value !== undefined),
      ) as Parameter,
    )
  return (
    <fieldset className="parameter-card">
      <legend className="mono">@{name}</legend>
      <SelectField
        label="Type"
        value={parameter.type ?? 'string'}
        options={types.map((type) => [type] as const)}
        onChange={(type) => set({ type })}
      />
      <TextField
        label="Allowed values"
        note="Separated by commas. Empty: any value."
        value={parameter.enum?.join(', ') ?? ''}
        onChange={(text) => {
          const values = text.split(',').map((value) => value.trim())
          set({ enum: text.trim() === '' ? undefined : values })
        }}
      />
      <TextField
        label="Default"
        value={String(parameter.default ?? '')}
        disabled={parameter.required === true}
        onChange={(text) => set({ default: text === '' ? undefined : text })}
      />
      <TextField
        label="Description"
        value={parameter.description ?? ''}
        onChange={(description) => set({ description })}
      />
      <div className="actions">
        <CheckField
          label="Required"
          checked={parameter.required ?? false}
          onChange={(required) => set({ required, ...(required && { default: undefined }) })}
        />
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

interface NumberFieldProps {
  label: string
  note?: string
  disabled?: boolean
  value: number | null
  onChange: (value: number | null) => void
}

function NumberField({ value, onChange, ...props }: NumberFieldProps) {
  return (
    <TextField
      {...props}
      value={value ?? ''}
      onChange={(text) => {
        if (/^\d{0,8}$/.test(text)) onChange(text === '' ? null : Number(text))
      }}
    />
  )
}
