import { forbidden, invalidParameter } from '../base/errors.ts'
import { readShape } from '../base/validation.ts'
import type { Kind, NextDefinitions } from '../definitions/kind.ts'
import { refuseUnknown } from '../endpoints/call/prepared-call.ts'
import { columnProblem } from '../endpoints/definition/result-columns.ts'
import type { SavedEndpoint } from '../endpoints/manage/endpoints.ts'
import { auditRefusal } from '../sql/audit-source.ts'
import { type AlertFields, alertShape, readAlert, type SavedAlert, type Target, targetKey } from './alert.ts'
import type { AlertParts } from './alert-parts.ts'
import { type AlertState, newState } from './alert-state.ts'
import { type Condition, parseCondition } from './condition.ts'
import type { Evaluator } from './evaluator.ts'
import { hasUnreadableSecret, unreadableSecret } from './secrets.ts'
import { RefusedTarget, resolveTarget } from './target.ts'

export type AlertView = ReturnType<typeof view>

export const alertReadOnly = 'state since evaluated_at value error'.split(' ')

export function alertKind(parts: AlertParts, evaluator: Evaluator): Kind<SavedAlert> {
  const find = (reference: string) => {
    const alerts = evaluator.saved()
    const id = reference.toLowerCase()
    return alerts.find(({ name }) => name === reference) ?? alerts.find((alert) => alert.id === id)
  }
  return {
    name: 'alert',
    folder: 'alerts',
    readOnly: alertReadOnly,
    items: { list: () => evaluator.saved(), find },
    read: readAlert,
    fieldsOf: ({ definition }) => ({
      ...definition,
      notify: definition.notify.map(({ type, url }) => ({ type, url })),
    }),
    // A mute is not in files.
    kept: ({ definition: { muted_until } }) => ({ muted_until }),
    // A notification that the alert is resolved needs all of it.
    deletedBody: ({ definition, created_at, note }) => ({ definition, created_at, note }),
    async prepare(fields, { current, next, at, note, dryRun, isAdmin }) {
      const definition = await prepareAlert(parts, fields, next, current)
      const endpoint = next.find<SavedEndpoint>('endpoints', definition.endpoint)
      if (!isAdmin && endpoint?.readsAudit) throw forbidden(auditRefusal)
      const secrets = dryRun ? [] : newSecrets(parts, definition.notify, current)
      return {
        body: { definition, created_at: current?.created_at ?? at, note },
        ...(secrets.length > 0 && { shown: { secrets } }),
      }
    },
    refersTo: { endpoints: ({ definition }) => [definition.endpoint] },
    async views(items, change) {
      const states = await evaluator.states()
      return items.map((alert) => view(parts, alert, states, change && { before: change.before }))
    },
  }
}

/** Checks the fields of a new or changed alert. */
export async function prepareAlert(
  parts: AlertParts,
  fields: Record<string, unknown>,
  next: Pick<NextDefinitions, 'find'> & Partial<Pick<NextDefinitions, 'isChanged'>>,
  current?: SavedAlert,
) {
  const sent = readShape(alertShape, fields)
  // An alert can be muted or disabled even if its endpoint is gone.
  const queryOf = ({ endpoint, parameters, when }: AlertFields) =>
    JSON.stringify([endpoint, parameters, when])
  const isSame = current && queryOf(sent) === queryOf(current.definition)
  // One whose endpoint goes away is among the users of that.
  const isAffected = next.isChanged?.('endpoints') && next.find('endpoints', sent.endpoint)
  if (!isSame || isAffected) checkQuery(sent, next)
  const notify: Target[] = []
  for (const [index, { type, url }] of sent.notify.entries()) {
    const key = targetKey({ type, url })
    if (notify.some((other) => targetKey(other) === key)) {
      throw invalidParameter(`notify.${index}.url`, 'Each target can be in notify once.')
    }
    // A target that is saved already is checked again when something is sent.
    const saved = current?.definition.notify.find((other) => targetKey(other) === key)
    notify.push(saved ?? (await newTarget(parts, { type, url }, index)))
  }
  return { ...sent, notify }
}

function checkQuery(
  { endpoint: reference, parameters, when }: AlertFields,
  next: Pick<NextDefinitions, 'find'>,
): void {
  const endpoint = next.find<SavedEndpoint>('endpoints', reference)
  if (!endpoint) throw invalidParameter('endpoint', `No endpoint has the id or name "${reference}".`)
  refuseUnknown(endpoint, parameters)
  endpoint.compiled.check(parameters)
  const { of, column } = parseCondition(when) as Condition
  if (of === 'rows') return
  const problem = columnProblem(endpoint, column, true)
  if (problem) throw invalidParameter('when', problem)
}

async function newTarget(
  { rules, secrets }: AlertParts,
  target: Pick<Target, 'type' | 'url'>,
  index: number,
): Promise<Target> {
  try {
    await resolveTarget(target.url, rules)
  } catch (error) {
    if (error instanceof RefusedTarget) throw invalidParameter(`notify.${index}.url`, error.message)
    throw error
  }
  return target.type === 'slack' ? target : { ...target, secret: secrets.create() }
}

/** The secrets of targets that were not there before a change. */
function newSecrets({ secrets }: AlertParts, notify: readonly Target[], before: SavedAlert | undefined) {
  return notify.flatMap((target) => {
    const isNew = !before?.targets.has(targetKey(target))
    const secret = isNew && target.secret !== undefined && secrets.read(target.secret)
    return secret ? [{ url: target.url, secret }] : []
  })
}

/** With the secrets of new targets, for those who made the change. */
function view(
  parts: AlertParts,
  alert: SavedAlert,
  states: ReadonlyMap<string, AlertState>,
  change?: { before: SavedAlert | undefined },
) {
  const { definition, id, version, created_at, updated_at, updated_by, note, rule } = alert
  const known = states.get(id)
  const state = known?.rule === rule ? known : newState(rule, definition.name, Date.parse(updated_at))
  const iso = (ms: number) => new Date(ms).toISOString()
  const errors = [
    state.error,
    hasUnreadableSecret(alert, parts.secrets) && unreadableSecret,
    state.dropped > 0 && `Notifications that could not be delivered and were dropped: ${state.dropped}.`,
  ]
  const secrets = change ? newSecrets(parts, definition.notify, change.before) : []
  return {
    id,
    ...definition,
    notify: definition.notify.map((target) => {
      const { type, url } = target
      const secret = type === 'webhook' && secrets.find((each) => each.url === url)?.secret
      const isOff = state.off.length > 0 && state.off.includes(targetKey(target))
      return { type, url, ...(secret && { secret }), ...(isOff && { switched_off: true }) }
    }),
    state: state.state,
    since: iso(state.sinceMs),
    evaluated_at: state.evaluatedMs === null ? null : iso(state.evaluatedMs),
    value: state.value,
    error: errors.filter(Boolean).join(' ') || null,
    ...{ version, created_at, updated_at, updated_by, note },
  }
}
