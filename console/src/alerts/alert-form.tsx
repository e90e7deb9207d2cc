import { useMutation, useQuery } from '@tanstack/react-query'
import { parameterNames } from '../api/parameter-names.ts'
import { invalidate, queries } from '../api/queries.ts'
import type { Alert } from '../api/shapes.ts'
import { Conflict } from '../definitions/conflict.tsx'
import { changeDefinition, createDefinition, isConflict } from '../definitions/requests.ts'
import { useDraft } from '../definitions/use-draft.ts'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { Dialog, FormDialog } from '../ui/dialog.tsx'
import { NumberField, SelectField, TextField } from '../ui/fields.tsx'
import { type AlertDraft, alertKind, newAlert, type Target } from './alert-draft.ts'
import { AlertPreviewPart } from './alert-preview.tsx'

interface AlertFormProps {
  /** Undefined for a new alert. */
  alert?: Alert
  /** What a new alert begins with. */
  start?: Partial<AlertDraft>
  onClose: () => void
  onSaved: (saved: Alert) => void
}

export function AlertForm({ alert, start, onClose, onSaved }: AlertFormProps) {
  const { data: endpoints = [] } = useQuery(queries.endpoints())
  const { draft, base, isBehind, setDraft, discard, rebase } = useDraft({
    kind: alertKind,
    saved: alert,
    start: { ...newAlert, ...start },
  })
  const endpoint = endpoints.find(({ id, name }) => name === draft.endpoint || id === draft.endpoint)
  const names = endpoint ? parameterNames(endpoint) : []
  const { parameters } = draft
  const body = {
    ...draft,
    // Those of an endpoint that is not known, or not yet, stay as they are.
    parameters: endpoint
      ? Object.fromEntries(names.flatMap((name) => (parameters[name] ? [[name, parameters[name]]] : [])))
      : parameters,
    notify: draft.notify.filter(({ url, to }) => url || to),
  }
  const save = useMutation({
    mutationFn: () =>
      base ? changeDefinition(alertKind, base, body) : createDefinition<Alert>(alertKind, body),
    onSuccess: (saved) => {
      invalidate('alerts')
      if (secretsOf(saved).length === 0) onSaved(saved)
    },
    // The response may contain secrets, which must not be cached.
    gcTime: 0,
  })
  const field = <K extends keyof AlertDraft>(name: K) => ({
    value: draft[name],
    onChange: (value: AlertDraft[K]) => setDraft((now) => ({ ...now, [name]: value })),
  })
  if (save.data && secretsOf(save.data).length > 0) {
    return <Secrets saved={save.data} onClose={() => onSaved(save.data)} />
  }
  return (
    <FormDialog
      title={alert ? `Edit ${alert.name}` : 'New alert'}
      isWide
      action={save.isPending ? 'Saving …' : alert ? 'Save' : 'Create alert'}
      disabled={save.isPending || isBehind}
      // The conflict is shown instead of the error.
      error={isConflict(save.error) ? null : save.error}
      onSubmit={() => save.mutate()}
      onClose={onClose}
    >
      {isBehind && base && alert && (
        <Conflict
          kind={alertKind}
          draft={draft}
          base={base}
          saved={alert}
          onRebase={rebase}
          onDiscard={discard}
        />
      )}
      <TextField label="Name" required {...field('name')} />
      <SelectField
        label="Endpoint"
        options={[['', 'Choose an endpoint'] as const, ...endpoints.map(({ name }) => [name] as const)]}
        {...field('endpoint')}
        value={endpoint?.name ?? draft.endpoint}
      />
      {names.map((name) => (
        <TextField
          key={name}
          label={name}
          note={endpoint?.parameters[name]?.description}
          value={parameters[name] ?? ''}
          onChange={(value) => field('parameters').onChange({ ...parameters, [name]: value })}
        />
      ))}
      <TextField
        label="When"
        required
        className="mono"
        note="rows > 0, any(column) >= 10 or all(column) < 5"
        {...field('when')}
      />
      <TextField
        label="Group by"
        className="mono"
        note="Up to three columns with commas between them. Each combination has a state of its own."
        value={draft.by.join(',')}
        onChange={(text) =>
          field('by').onChange(text === '' ? [] : text.split(',').map((name) => name.trim()))
        }
      />
      {draft.by.length > 0 && (
        <TextField
          label="Keep a group without rows for"
          note="Such as 30s, 5m or 2h. Then it is resolved."
          required
          {...field('keep_missing')}
        />
      )}
      <div className="alert-times">
        <NumberField label="Every, in seconds" type="number" min={5} required {...field('every_seconds')} />
        <NumberField label="Holds for, in seconds" type="number" min={0} required {...field('for_seconds')} />
        <NumberField
          label="Repeat after, in seconds"
          type="number"
          min={5}
          placeholder="never"
          {...field('repeat_seconds')}
        />
      </div>
      <Targets targets={draft.notify} onChange={field('notify').onChange} />
      <TextField label="Description" {...field('description')} />
      <AlertPreviewPart draft={body} isComplete={draft.endpoint !== '' && draft.when !== ''} />
    </FormDialog>
  )
}

const secretsOf = ({ notify }: Alert) => notify.filter(({ secret }) => secret !== undefined)

/** Shows the secrets that saving an alert created. */
function Secrets({ saved, onClose }: { saved: Alert; onClose: () => void }) {
  return (
    <Dialog close="Done" title={`Secrets of ${saved.name}`} onClose={onClose}>
      <p>Receivers verify notifications with these secrets. Copy them now; they are shown only once.</p>
      {secretsOf(saved).map(({ url, secret = '' }) => (
        <div className="stack" key={url}>
          <p className="faint">{url}</p>
          <p className="secret">{secret}</p>
          <CopyButton text={secret} label="Copy secret" />
        </div>
      ))}
    </Dialog>
  )
}

const types = [['webhook', 'Webhook'] as const, ['slack', 'Slack'] as const, ['email', 'Email'] as const]

function Targets({
  targets,
  onChange,
}: {
  targets: readonly Target[]
  onChange: (targets: Target[]) => void
}) {
  const change = (index: number, changed: Target) =>
    onChange(targets.map((target, at) => (at === index ? changed : target)))
  return (
    <fieldset className="alert-targets">
      <legend>Notify</legend>
      {targets.map((target, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a target has no other name while it is typed
        <div className="alert-target" key={index}>
          <SelectField
            label="Type"
            options={types}
            value={target.type}
            onChange={(type) => change(index, type === 'email' ? { type, to: '' } : { type, url: '' })}
          />
          {target.type === 'email' ? (
            <TextField
              label="To"
              type="email"
              value={target.to ?? ''}
              onChange={(to) => change(index, { ...target, to })}
            />
          ) : (
            <TextField
              label="URL"
              type="url"
              value={target.url ?? ''}
              onChange={(url) => change(index, { ...target, url })}
            />
          )}
          <Button
            look="plain icon"
            aria-label="Remove the target"
            onClick={() => onChange(targets.filter((_, at) => at !== index))}
            icon="remove"
          />
        </div>
      ))}
      <Button look="small" onClick={() => onChange([...targets, { type: 'webhook', url: '' }])} icon="plus">
        Add a target
      </Button>
    </fieldset>
  )
}
