import type { Alert } from '../api/shapes.ts'
import type { Kind } from '../definitions/definition.ts'

export type Target = Pick<Alert['notify'][number], 'type' | 'url' | 'to'>

/** The fields of an alert that its form has. A number is null while its field is empty. */
export interface AlertDraft
  extends Pick<
    Alert,
    'name' | 'description' | 'endpoint' | 'parameters' | 'when' | 'by' | 'keep_missing' | 'repeat_seconds'
  > {
  every_seconds: number | null
  for_seconds: number | null
  notify: Target[]
}

export const newAlert: AlertDraft = {
  name: '',
  description: '',
  endpoint: '',
  parameters: {},
  when: 'rows > 0',
  by: [],
  keep_missing: '5m',
  every_seconds: 60,
  for_seconds: 0,
  repeat_seconds: null,
  notify: [],
}

const fields = Object.keys(newAlert) as (keyof AlertDraft)[]

export const alertKind: Kind<Alert, AlertDraft> = {
  path: 'alerts',
  one: 'alert',
  draftOf: (alert) => ({
    ...(Object.fromEntries(fields.map((field) => [field, alert[field]])) as unknown as AlertDraft),
    notify: alert.notify.map(({ key: _, switched_off: __, ...target }) => target),
  }),
  besides: ({ enabled, muted_until, muted_groups }) => ({ enabled, muted_until, muted_groups }),
}
