import { CheckField, NumberField, TextField } from '../ui/fields.tsx'
import type { EndpointDraft } from './endpoint-draft.ts'

interface EndpointSettingsProps {
  draft: EndpointDraft
  /** A new endpoint has its description beside its name, and is published when it is created. */
  isNew: boolean
  onChange: (draft: EndpointDraft) => void
}

export function EndpointSettings({ draft, isNew, onChange }: EndpointSettingsProps) {
  const set = (fields: Partial<EndpointDraft>) => onChange({ ...draft, ...fields })
  return (
    <div className="stack">
      {!isNew && (
        <TextField
          label="Description"
          value={draft.description}
          onChange={(description) => set({ description })}
        />
      )}
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
            note="Empty: every request runs the query. To keep results warm, enter 900 here and 300 beside it."
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
        <CheckField
          label="Timestamps as in Logflare"
          note="Microseconds since 1970, or text without a time zone, instead of ISO 8601 text."
          checked={draft.timestamps === 'logflare'}
          onChange={(checked) => set({ timestamps: checked ? 'logflare' : 'iso' })}
        />
        {!isNew && (
          <CheckField
            label="Published to tenants"
            note="Tokens with a project see it in their console and in the API description, and can request it. Other tokens are not affected."
            checked={draft.published}
            onChange={(published) => set({ published })}
          />
        )}
      </div>
    </div>
  )
}

interface NameFieldsProps extends Pick<EndpointSettingsProps, 'draft' | 'onChange'> {
  /** Why the name cannot be used; empty if it can. */
  problem: string
}

export function NameFields({ draft, problem, onChange }: NameFieldsProps) {
  return (
    <div className="form-grid">
      <TextField
        label="Name"
        note="Part of the URL."
        problem={problem}
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
