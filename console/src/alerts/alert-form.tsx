import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/api.ts'
import { invalidate, queries } from '../api/queries.ts'
import type { Alert } from '../api/shapes.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { Dialog, DialogForm } from '../ui/dialog.tsx'
import { SelectField, TextField } from '../ui/fields.tsx'
import { Icon } from '../ui/icon.tsx'
import { AlertPreviewPart } from './alert-preview.tsx'

/** What the form begins with. */
export type AlertStart = Partial<Pick<Alert, 'name' | 'endpoint' | 'when' | 'parameters'>>

interface AlertFormProps {
  /** Undefined for a new alert. */
  alert?: Alert
  start?: AlertStart
  onClose: () => void
  onSaved: (saved: Alert) => void
}

type Target = Pick<Alert['notify'][number], 'type' | 'url'>

export function AlertForm({ alert, start = {}, onClose, onSaved }: AlertFormProps) {
  const { data: endpoints = [] } = useQuery(queries.endpoints())
  const [fields, setFields] = useState(() => textsOf(alert, start))
  const [parameters, setParameters] = useState(alert?.parameters ?? start.parameters ?? {})
  const [targets, setTargets] = useState<Target[]>(
    () => alert?.notify.map(({ type, url }) => ({ type, url })) ?? [],
  )
  const endpoint = endpoints.find(({ name }) => name === fields.endpoint)
  const names = Object.keys(endpoint?.parameters ?? {})
  const body = {
    name: fields.name,
    description: fields.description,
    endpoint: fields.endpoint,
    parameters: Object.fromEntries(
      names.flatMap((name) => (parameters[name] ? [[name, parameters[name]]] : [])),
    ),
    when: fields.when,
    every_seconds: Number(fields.every),
    for_seconds: Number(fields.hold),
    repeat_seconds: fields.repeat === '' ? null : Number(fields.repeat),
    notify: targets.filter(({ url }) => url !== ''),
  }
  const save = useMutation({
    mutationFn: () =>
      api<Alert>(alert ? `/api/alerts/${alert.id}` : '/api/alerts', {
        method: alert ? 'PATCH' : 'POST',
        body,
      }),
    onSuccess: (saved) => {
      invalidate('alerts')
      if (secretsOf(saved).length === 0) onSaved(saved)
    },
    // The response may contain secrets, which must not be cached.
    gcTime: 0,
  })
  const text = (name: keyof typeof fields) => ({
    value: fields[name],
    onChange: (value: string) => setFields({ ...fields, [name]: value }),
  })
  if (save.data && secretsOf(save.data).length > 0) {
    return <Secrets saved={save.data} onClose={() => onSaved(save.data)} />
  }
  return (
    <Dialog title={alert ? `Edit ${alert.name}` : 'New alert'} isWide onClose={onClose}>
      <DialogForm
        action={save.isPending ? 'Saving …' : alert ? 'Save' : 'Create alert'}
        disabled={save.isPending}
        error={save.error}
        onSubmit={() => save.mutate()}
        onClose={onClose}
      >
        <TextField label="Name" required {...text('name')} />
        <SelectField
          label="Endpoint"
          options={[['', 'Choose an endpoint'] as const, ...endpoints.map(({ name }) => [name] as const)]}
          {...text('endpoint')}
        />
        {names.map((name) => (
          <TextField
            key={name}
            label={name}
            note={endpoint?.parameters[name]?.description}
            value={parameters[name] ?? ''}
            onChange={(value) => setParameters({ ...parameters, [name]: value })}
          />
        ))}
        <TextField
          label="When"
          required
          className="mono"
          note="rows > 0, any(column) >= 10 or all(column) < 5"
          {...text('when')}
        />
        <div className="alert-times">
          <TextField label="Every, in seconds" type="number" min={5} required {...text('every')} />
          <TextField label="Holds for, in seconds" type="number" min={0} required {...text('hold')} />
          <TextField
            label="Repeat after, in seconds"
            type="number"
            min={5}
            placeholder="never"
            {...text('repeat')}
          />
        </div>
        <Targets targets={targets} onChange={setTargets} />
        <TextField label="Description" {...text('description')} />
        <AlertPreviewPart
          draft={{ ...body, notify: [] }}
          isComplete={fields.endpoint !== '' && fields.when !== ''}
        />
      </DialogForm>
    </Dialog>
  )
}

const secretsOf = ({ notify }: Alert) => notify.filter(({ secret }) => secret !== undefined)

/** Shows the secrets that saving an alert created. */
function Secrets({ saved, onClose }: { saved: Alert; onClose: () => void }) {
  return (
    <Dialog title={`Secrets of ${saved.name}`} onClose={onClose}>
      <p>Receivers verify notifications with these secrets. Copy them now; they are shown only once.</p>
      {secretsOf(saved).map(({ url, secret = '' }) => (
        <div className="stack" key={url}>
          <p className="faint">{url}</p>
          <p className="secret">{secret}</p>
          <CopyButton text={secret} label="Copy secret" />
        </div>
      ))}
      <div className="dialog-foot">
        <button type="button" className="button primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  )
}

function textsOf(alert: Alert | undefined, start: AlertStart) {
  return {
    name: alert?.name ?? start.name ?? '',
    description: alert?.description ?? '',
    endpoint: alert?.endpoint ?? start.endpoint ?? '',
    when: alert?.when ?? start.when ?? 'rows > 0',
    every: String(alert?.every_seconds ?? 60),
    hold: String(alert?.for_seconds ?? 0),
    repeat: alert?.repeat_seconds ? String(alert.repeat_seconds) : '',
  }
}

const types = [['webhook', 'Webhook'] as const, ['slack', 'Slack'] as const]

function Targets({
  targets,
  onChange,
}: {
  targets: readonly Target[]
  onChange: (targets: Target[]) => void
}) {
  const change = (index: number, changed: Partial<Target>) =>
    onChange(targets.map((target, at) => (at === index ? { ...target, ...changed } : target)))
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
            onChange={(type) => change(index, { type })}
          />
          <TextField label="URL" type="url" value={target.url} onChange={(url) => change(index, { url })} />
          <button
            type="button"
            className="button plain icon"
            aria-label="Remove the target"
            onClick={() => onChange(targets.filter((_, at) => at !== index))}
          >
            <Icon name="remove" />
          </button>
        </div>
      ))}
      <button
        type="button"
        className="button small"
        onClick={() => onChange([...targets, { type: 'webhook', url: '' }])}
      >
        <Icon name="plus" />
        Add a target
      </button>
    </fieldset>
  )
}
