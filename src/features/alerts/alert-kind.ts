import { z } from 'zod'
import { endpointNotFound, invalidParameter } from '../../core/base/errors.ts'
import { type FieldShapes, readShape } from '../../core/base/validation.ts'
import { type DefinitionView, kindForm, type Opened } from '../../core/definitions/kind.ts'
import { yamlFile } from '../../core/definitions/yaml-file.ts'
import { refuseUnknown } from '../../core/endpoints/call/call.ts'
import { columnProblem } from '../../core/endpoints/definition/result-columns.ts'
import type { SavedEndpoint } from '../../core/endpoints/manage/endpoints.ts'
import {
  type Address,
  type AlertFields,
  addressOf,
  alertShape,
  alertStates,
  type SavedAlert,
  type Target,
  targetKey,
  targetShape,
} from './alert.ts'
import type { AlertParts } from './alert-parts.ts'
import { type AlertState, newState } from './alert-state.ts'
import { type Condition, parseCondition } from './condition.ts'
import type { Evaluator } from './evaluator.ts'
import { noMailServer } from './mailer.ts'
import { namedTargets, notifyInFiles } from './named-targets.ts'
import { targetForms } from './notification.ts'
import { hasUnreadableSecret, unreadableSecret } from './secrets.ts'
import { RefusedTarget, resolveTarget } from './target.ts'

export type AlertView = DefinitionView<AlertFields, ReturnType<typeof view>>

const viewShape: FieldShapes<Omit<ReturnType<typeof view>, 'notify'>> = {
  state: z.enum(alertStates).describe('`failing`: three evaluations in a row failed.'),
  since: z.iso.datetime().describe('When the state began.'),
  evaluated_at: z.iso.datetime().nullable().describe('When the alert was last evaluated. Null: not yet.'),
  value: z.number().nullable().describe('The value that decided the last evaluation. Null: there was none.'),
  groups_left_out: z
    .int()
    .exactOptional()
    .describe('Of an alert with `by`: groups of the last result beyond 1,000, which are not evaluated.'),
  error: z
    .string()
    .nullable()
    .describe('Why the last evaluation failed, why nothing can be sent, or what was not delivered.'),
}

const target = targetShape.extend({
  key: z.string().describe('Names the target in entries of `alert_events`, as `metadata.target_key`.'),
  secret: z.string().exactOptional().describe('Signs notifications. Only in the response that created it.'),
  switched_off: z.literal(true).exactOptional().describe('The target responded 410: nothing more is sent.'),
})

export const alertExample = {
  name: 'errors',
  endpoint: 'functions.invocation-stats',
  parameters: { project: 'demo', interval: '15min' },
  when: 'any(error_count) >= 10',
  for_seconds: 120,
  notify: [{ type: 'webhook', url: 'https://example.com/hook' }],
}

const form = kindForm<AlertFields>({
  name: 'alert',
  folder: 'alerts',
  most: 10_000,
  fields: alertShape,
  refersTo: { endpoints: ({ endpoint }) => [endpoint] },
  fieldsOf: ({ definition }) => ({ ...definition, notify: definition.notify.map(addressOf) }),
  // A notification that the alert is resolved needs all of it.
  remainder: ({ definition }) => ({ definition }),
  file: yamlFile('alert', alertShape, {
    omitted: ['muted_until', 'muted_groups'],
    example: 'endpoint: usage.api-counts',
    inFiles: { notify: notifyInFiles },
    values: namedTargets,
    // The names of hosts would be resolved.
    offline: (fields) => ({ ...fields, notify: [] }),
  }),
  docs: {
    about: 'Evaluate endpoints at intervals, and notify when a condition is met.',
    fieldsName: 'NewAlert',
    view: {
      ...viewShape,
      parameters: z.record(z.string(), z.string()).describe('Parameters of the endpoint, by name.'),
      notify: z.array(target).describe('Where notifications are sent.'),
    },
    deployed: {
      secrets: z
        .array(z.object({ url: z.string(), secret: z.string() }))
        .exactOptional()
        .describe('Secrets of new webhooks. Only in the response that created them.'),
    },
    example: alertExample,
    changeExample: { muted_until: '2026-01-31T12:00:00Z' },
    referenceExample: 'errors',
    changes: 'edit',
    texts: {
      create: 'The response contains the secrets of webhooks.',
      change: 'Another query, condition or duration makes the alert start anew.',
      delete: 'A firing alert is resolved.',
      restore: 'Targets that were removed get new secrets.',
    },
  },
})

export const alerts = {
  ...form,
  open: ({
    alertParts: parts,
    evaluator,
  }: {
    alertParts: AlertParts
    evaluator: Evaluator
  }): Opened<SavedAlert> => ({
    items: parts.alerts,
    // A mute is not in files.
    kept: ({ definition: { muted_until, muted_groups } }) => ({ muted_until, muted_groups }),
    async prepare(fields, { current, next, dryRun }) {
      const find = (reference: string) => next.find<SavedEndpoint>('endpoints', reference)
      const endpoints = { find, areChanged: next.isChanged('endpoints') }
      const definition = await prepareAlert(parts, fields, endpoints, current)
      const secrets = dryRun ? [] : newSecrets(parts, definition.notify, current)
      return {
        stored: { definition },
        ...(secrets.length > 0 && { shown: { secrets } }),
      }
    },
    async views(items, change) {
      const states = await evaluator.states()
      return items.map((alert) => view(parts, alert, states, change && { before: change.before }))
    },
  }),
}

/** The endpoints that an alert can refer to. */
interface AlertEndpoints {
  find(reference: string): SavedEndpoint | undefined
  areChanged: boolean
}

/** Checks the fields of a new or changed alert. */
export async function prepareAlert(
  parts: AlertParts,
  fields: Record<string, unknown>,
  endpoints: AlertEndpoints,
  current?: SavedAlert,
) {
  const sent = readShape(alertShape, fields)
  // An alert can be muted or disabled even if its endpoint is gone.
  const queryOf = ({ endpoint, parameters, when, by }: AlertFields) =>
    JSON.stringify([endpoint, parameters, when, by])
  const isSame = current && queryOf(sent) === queryOf(current.definition)
  // One whose endpoint goes away is among the users of that.
  const isAffected = endpoints.areChanged && endpoints.find(sent.endpoint)
  if (!isSame || isAffected) checkQuery(sent, endpoints)
  const notify: Target[] = []
  for (const [index, address] of sent.notify.entries()) {
    const key = targetKey(address)
    if (notify.some((other) => targetKey(other) === key)) {
      const field = address.type === 'email' ? 'to' : 'url'
      throw invalidParameter(`notify.${index}.${field}`, 'Each target can be in notify once.')
    }
    // A target that is saved already is checked again when something is sent.
    const saved = current?.definition.notify.find((other) => targetKey(other) === key)
    notify.push(saved ?? (await newTarget(parts, addressOf(address), index)))
  }
  return { ...sent, notify }
}

function checkQuery(
  { endpoint: reference, parameters, when, by }: AlertFields,
  endpoints: AlertEndpoints,
): void {
  const endpoint = endpoints.find(reference)
  if (!endpoint) throw invalidParameter('endpoint', endpointNotFound(reference).message)
  refuseUnknown(endpoint, parameters)
  endpoint.compiled.check(parameters)
  for (const column of by) {
    const problem = columnProblem(endpoint, column, false)
    if (problem) throw invalidParameter('by', problem)
  }
  const { of, column } = parseCondition(when) as Condition
  if (of === 'rows') return
  const problem = columnProblem(endpoint, column, true)
  if (problem) throw invalidParameter('when', problem)
}

async function newTarget(
  { rules, secrets, mailer }: AlertParts,
  target: Address,
  index: number,
): Promise<Target> {
  if (target.type === 'email') {
    if (!mailer) throw invalidParameter(`notify.${index}.type`, noMailServer)
    return target
  }
  try {
    await resolveTarget(target.url ?? '', rules)
  } catch (error) {
    if (error instanceof RefusedTarget) throw invalidParameter(`notify.${index}.url`, error.message)
    throw error
  }
  return targetForms[target.type].isSigned ? { ...target, secret: secrets.create() } : target
}

/** The secrets of targets that were not there before a change. */
function newSecrets({ secrets }: AlertParts, notify: readonly Target[], before: SavedAlert | undefined) {
  return notify.flatMap((target) => {
    const isNew = !before?.targets.has(targetKey(target))
    const secret = isNew && target.secret !== undefined && secrets.read(target.secret)
    return secret ? [{ url: target.url ?? '', secret }] : []
  })
}

/** With the secrets of new targets, for those who made the change. */
function view(
  parts: AlertParts,
  alert: SavedAlert,
  states: ReadonlyMap<string, AlertState>,
  change?: { before: SavedAlert | undefined },
) {
  const { definition, id, updated_at, rule } = alert
  const known = states.get(id)
  const state = known?.rule === rule ? known : newState(rule, definition.name, Date.parse(updated_at))
  const iso = (ms: number) => new Date(ms).toISOString()
  const errors = [
    state.error,
    hasUnreadableSecret(alert, parts.secrets) && unreadableSecret,
    !parts.mailer && definition.notify.some(({ type }) => type === 'email') && noMailServer,
    state.dropped > 0 && `Notifications that could not be delivered and were dropped: ${state.dropped}.`,
  ]
  const secrets = change ? newSecrets(parts, definition.notify, change.before) : []
  return {
    notify: definition.notify.map((target) => {
      const { type, url } = target
      const key = targetKey(target)
      const secret = targetForms[type].isSigned && secrets.find((each) => each.url === url)?.secret
      const isOff = state.off.length > 0 && state.off.includes(key)
      return { ...addressOf(target), key, ...(secret && { secret }), ...(isOff && { switched_off: true }) }
    }),
    state: state.state,
    since: iso(state.sinceMs),
    evaluated_at: state.evaluatedMs === null ? null : iso(state.evaluatedMs),
    value: state.value,
    ...(definition.by.length > 0 && { groups_left_out: state.groupsLeftOut ?? 0 }),
    error: errors.filter(Boolean).join(' ') || null,
  }
}
