import { randomUUID } from 'node:crypto'
import type { Timers } from '../base/clock.ts'
import { invalidBody, invalidParameter, nameTaken, versionConflict } from '../base/errors.ts'
import { readShape } from '../base/validation.ts'
import { type Catalog, lastWins } from '../catalog/catalog.ts'
import type { Endpoint } from '../endpoints/definition/endpoint.ts'
import type { Endpoints } from '../endpoints/manage/endpoints.ts'
import { type AlertFields, alertShape, resultKey, ruleOf, type StoredAlert, targetKey } from './alert.ts'
import { type CheckOptions, checkRule, checkTargets } from './alert-check.ts'
import type { AlertEvents } from './alert-events.ts'
import { type AlertResults, decideBy } from './alert-results.ts'
import { type AlertState, afterEvaluation, newState } from './alert-state.ts'
import { type Condition, parseCondition } from './condition.ts'
import { type Deliveries, unreadableSecret } from './delivery/deliveries.ts'
import { notificationsFor, shownRows, slackBody, webhookBody } from './delivery/notification.ts'
import type { Evaluator } from './evaluator.ts'
import { pastDecisions } from './past-decisions.ts'
import type { SavedAlert, SavedAlerts } from './saved-alerts.ts'

interface AlertAdminOptions extends CheckOptions {
  catalog: Catalog
  alerts: SavedAlerts
  endpoints: Endpoints
  results: AlertResults
  evaluator: Evaluator
  deliveries: Deliveries
  events: AlertEvents
  time: Timers
}

export type AlertView = Awaited<ReturnType<AlertAdmin['get']>>

export interface FindEndpoint {
  find(reference: string): Endpoint | undefined
}

export interface ChangeTerms {
  by: string
  /** Version that the change is based on. Undefined: any version. */
  expected: number | undefined
}

const readOnly = [
  ...['id', 'version', 'created_at', 'updated_at', 'updated_by'],
  ...['state', 'since', 'evaluated_at', 'value', 'error'],
]
const maxAlerts = 10_000

/** Creates, changes, tests and deletes alerts. Every change is checked and creates a new version. */
export class AlertAdmin {
  readonly #options: AlertAdminOptions

  constructor(options: AlertAdminOptions) {
    this.#options = options
  }

  async list() {
    const states = await this.#options.evaluator.states()
    return this.#options.alerts.list().map((alert) => this.#view(alert, states.get(alert.id)))
  }

  async get(reference: string) {
    const alert = this.#options.alerts.get(reference)
    return this.#view(alert, (await this.#options.evaluator.states()).get(alert.id))
  }

  /** Every version, newest first. The state is that of the alert now. */
  async versions(reference: string) {
    const versions = this.#options.alerts.versions(reference)
    const states = await this.#options.evaluator.states()
    return versions.map((alert) => this.#view(alert, states.get(alert.id)))
  }

  async create(body: unknown, by: string) {
    const { alerts, catalog } = this.#options
    const fields = writableFields(body)
    const { stored, created } = await this.prepare(fields, undefined)
    if (alerts.list().some(({ definition }) => definition.name === stored.definition.name)) {
      throw nameTaken(stored.definition.name)
    }
    if (alerts.list().length >= maxAlerts)
      throw invalidBody(`There are already ${maxAlerts} alerts. Delete one first.`)
    const id = randomUUID()
    await catalog.append(by, { kind: 'alert', id, version: 1, deleted: false, body: stored })
    return this.#changed(id, created)
  }

  /** Omitted fields get their defaults. */
  replace(reference: string, body: unknown, terms: ChangeTerms) {
    return this.#change(reference, terms, () => writableFields(body))
  }

  /** Omitted fields stay as they are. */
  patch(reference: string, body: unknown, terms: ChangeTerms) {
    return this.#change(reference, terms, (current) => ({ ...current, ...writableFields(body) }))
  }

  restore(reference: string, version: number, terms: ChangeTerms) {
    const old = this.#options.alerts.versions(reference).find((alert) => alert.version === version)
    if (!old) throw invalidParameter('version', `${reference} has no version ${version}.`)
    return this.#change(reference, terms, () => fieldsOf(old))
  }

  async delete(reference: string, { by, expected }: ChangeTerms): Promise<void> {
    await lastWins(expected, () => {
      const alert = this.#options.alerts.get(reference)
      expectVersion(alert, expected)
      const { id, version } = alert
      return this.#options.catalog.append(by, {
        kind: 'alert',
        id,
        version: version + 1,
        deleted: true,
        body: bodyOf(alert),
      })
    })
  }

  /** Checks the fields of a new or changed alert. Its endpoint may be one that is not saved yet. */
  async prepare(
    fields: Record<string, unknown>,
    current: SavedAlert | undefined,
    /** Set for a deployment, which may change the endpoint, too. */
    deployed?: FindEndpoint,
  ) {
    const sent = readShape(alertShape, fields)
    // An alert can be muted or disabled even if its endpoint is gone.
    const isSameQuery = !deployed && current !== undefined && queryOf(sent) === queryOf(fieldsOf(current))
    const endpoint = isSameQuery ? undefined : (deployed ?? this.#options.endpoints).find(sent.endpoint)
    if (!isSameQuery) {
      if (!endpoint) throw invalidParameter('endpoint', `No endpoint has the id or name "${sent.endpoint}".`)
      checkRule(sent, endpoint)
    }
    const { notify, created } = await checkTargets(
      this.#options,
      sent.notify,
      current?.definition.notify ?? [],
    )
    const stored: StoredAlert = {
      definition: { ...sent, endpoint: endpoint?.definition.name ?? sent.endpoint, notify },
      endpoint_id: endpoint?.definition.id ?? (current as SavedAlert).endpoint_id,
      created_at: current?.created_at ?? new Date(this.#options.time.wall.now()).toISOString(),
    }
    return { stored, created }
  }

  /** Evaluates now, without changing anything. Also sends a test notification if that is wanted. */
  async test(reference: string, notify: boolean, signal: AbortSignal) {
    const { alerts, evaluator, deliveries } = this.#options
    const alert = alerts.get(reference)
    const known = (await evaluator.states()).get(alert.id)
    const { state, rows } = await this.#evaluate(alert, known, signal)
    const tested = { state: state.state, value: state.value, rows }
    if (!notify) return tested
    const notifications = notificationsFor(this.#message(alert, 'alert.test', state, rows))
    const sent = notifications.map(async (notification) => {
      const { status, error, response } = await deliveries.sendOnce(alert, notification)
      return { type: notification.target.type, url: notification.target.url, status, error, response }
    })
    return { ...tested, deliveries: await Promise.all(sent) }
  }

  /** What an alert would do: its state now, what it would send, and when it would have fired in the last day. */
  async preview(body: unknown, signal: AbortSignal) {
    const fields = { name: 'preview', ...writableFields(body) }
    const { stored } = await this.prepare({ ...fields, notify: [] }, undefined)
    const alert = draftOf(stored)
    const { state, rows } = await this.#evaluate(alert, undefined, signal)
    const message = this.#message(alert, 'alert.firing', { ...state, state: 'firing' }, rows)
    const { results, time } = this.#options
    return {
      state: state.state,
      value: state.value,
      rows,
      webhook: JSON.parse(webhookBody(message)) as Record<string, unknown>,
      slack: JSON.parse(slackBody(message)) as Record<string, unknown>,
      history: await pastDecisions(results, alert, time, signal),
    }
  }

  events(reference: string) {
    return this.#options.events.of(this.#options.alerts.get(reference).id)
  }

  async #evaluate(alert: SavedAlert, known: AlertState | undefined, signal: AbortSignal) {
    const result = await this.#options.results.read(alert, { signal })
    const nowMs = this.#options.time.now()
    const before = known ?? newState(alert.rule, alert.definition.name, nowMs)
    const state = afterEvaluation(before, alert.definition, decideBy(alert, result), nowMs)
    return { state, rows: shownRows(alert, result.rows()) }
  }

  #message(
    alert: SavedAlert,
    type: 'alert.test' | 'alert.firing',
    state: AlertState,
    rows: ReturnType<typeof shownRows>,
  ) {
    const { results, time } = this.#options
    return {
      type,
      alert,
      endpoint: results.endpointName(alert),
      state,
      rows,
      nowMs: time.now(),
      wallMs: time.wall.now(),
    }
  }

  #change(
    reference: string,
    { by, expected }: ChangeTerms,
    next: (current: Record<string, unknown>) => Record<string, unknown>,
  ) {
    return lastWins(expected, async () => {
      const { alerts, catalog } = this.#options
      const current = alerts.get(reference)
      expectVersion(current, expected)
      const { stored, created } = await this.prepare(
        next(fieldsOf(this.#named(current))),
        this.#named(current),
      )
      const owner = alerts.list().find(({ definition }) => definition.name === stored.definition.name)
      if (owner && owner.id !== current.id) throw nameTaken(stored.definition.name)
      await catalog.append(by, {
        kind: 'alert',
        id: current.id,
        version: current.version + 1,
        deleted: false,
        body: stored,
      })
      return this.#changed(current.id, created)
    })
  }

  /** With the current name of its endpoint, which may have been renamed. */
  #named(alert: SavedAlert): SavedAlert {
    return {
      ...alert,
      definition: { ...alert.definition, endpoint: this.#options.results.endpointName(alert) },
    }
  }

  /** Secrets that were created are in this response only. */
  async #changed(id: string, created: ReadonlyMap<string, string>) {
    const view = await this.get(id)
    const notify = view.notify.map((target) => {
      const secret = created.get(targetKey(target))
      return secret === undefined ? target : { ...target, secret }
    })
    return { ...view, notify }
  }

  #view(alert: SavedAlert, known: AlertState | undefined) {
    const { definition, id, version, created_at, updatedAt, updatedBy } = alert
    const { secrets, time } = this.#options
    const state =
      known?.rule === alert.rule ? known : newState(alert.rule, definition.name, Date.parse(updatedAt))
    // States are measured by a clock that is never set back.
    const aheadMs = time.now() - time.wall.now()
    const iso = (ms: number) => new Date(ms - aheadMs).toISOString()
    const isUnreadable = definition.notify.some(({ secret }) => secret && secrets.read(secret) === undefined)
    return {
      id,
      ...fieldsOf(this.#named(alert)),
      notify: definition.notify.map(({ type, url }) => {
        const off = known?.off.find(({ target }) => target === targetKey({ type, url }))
        return { type, url, ...(off && { switched_off_at: iso(off.atMs) }) }
      }),
      state: state.state,
      since: iso(state.sinceMs),
      evaluated_at: state.evaluatedMs === null ? null : iso(state.evaluatedMs),
      value: state.value,
      error: state.error ?? (isUnreadable ? unreadableSecret : null),
      version,
      created_at,
      updated_at: updatedAt,
      updated_by: updatedBy,
    }
  }
}

function expectVersion({ version }: SavedAlert, expected: number | undefined): void {
  if (expected !== undefined && expected !== version) throw versionConflict(String(expected), version)
}

/** The fields of a request body without those that only the service sets. */
export function writableFields(body: unknown): Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidBody('The body must be a JSON object.')
  }
  const fields: Record<string, unknown> = { ...body }
  for (const name of readOnly) delete fields[name]
  if (Array.isArray(fields.notify)) {
    fields.notify = fields.notify.map((target: unknown) => {
      if (typeof target !== 'object' || target === null) return target
      const { switched_off_at: _, ...own } = target as Record<string, unknown>
      return own
    })
  }
  return fields
}

/** As users write them, without secrets. */
export function fieldsOf({ definition }: Pick<SavedAlert, 'definition'>) {
  return { ...definition, notify: definition.notify.map(({ type, url }) => ({ type, url })) }
}

/** What decides whether the query has to be checked. */
function queryOf({
  endpoint,
  parameters,
  when,
}: Pick<AlertFields, 'endpoint' | 'parameters' | 'when'>): string {
  return JSON.stringify([endpoint, parameters, when])
}

function bodyOf({ definition, endpoint_id, created_at }: SavedAlert): StoredAlert {
  return { definition, endpoint_id, created_at }
}

/** An alert that is not saved. */
function draftOf(stored: StoredAlert): SavedAlert {
  return {
    ...stored,
    id: '00000000-0000-4000-8000-000000000000',
    version: 0,
    deleted: false,
    condition: parseCondition(stored.definition.when) as Condition,
    rule: ruleOf(stored),
    resultKey: resultKey(stored),
    updatedAt: stored.created_at,
    updatedBy: '',
  }
}
