import { randomUUID } from 'node:crypto'
import { invalidParameter, resourceNotFound } from '../base/errors.ts'
import { closestName } from '../base/text/closest-name.ts'
import { readShape } from '../base/validation.ts'
import { expectVersion, lastWins } from '../catalog/catalog.ts'
import { refuseUnknown } from '../endpoints/call/prepared-call.ts'
import { writableFields } from '../endpoints/definition/definition.ts'
import type { ChangeTerms } from '../endpoints/manage/endpoint-admin.ts'
import {
  type AlertFields,
  alertShape,
  readAlert,
  type SavedAlert,
  type StoredAlert,
  type Target,
  targetKey,
} from './alert.ts'
import type { AlertParts } from './alert-parts.ts'
import { outcomeOf, pastDecisions, readResult } from './alert-results.ts'
import { type AlertState, afterEvaluation, newState } from './alert-state.ts'
import { type Condition, parseCondition } from './condition.ts'
import type { Evaluator } from './evaluator.ts'
import { type Message, notificationFor, shownRows, slackBody, webhookBody } from './notification.ts'
import { hasUnreadableSecret, unreadableSecret } from './secrets.ts'
import { RefusedTarget, resolveTarget } from './target.ts'

export type AlertView = Awaited<ReturnType<AlertAdmin['get']>>

type AlertChangeTerms = Pick<ChangeTerms, 'by' | 'expected'>

const readOnly = 'id version created_at updated_at updated_by state since evaluated_at value error'.split(' ')

/** Creates, changes, tests and deletes alerts. Every change is checked and creates a new version. */
export class AlertAdmin {
  readonly #parts: AlertParts
  readonly #evaluator: Evaluator

  constructor(parts: AlertParts, evaluator: Evaluator) {
    this.#parts = parts
    this.#evaluator = evaluator
  }

  async list() {
    const states = await this.#evaluator.states()
    return this.#saved().map((alert) => this.#view(alert, states))
  }

  async get(reference: string, before?: readonly Target[]) {
    return this.#view(this.#find(reference), await this.#evaluator.states(), before)
  }

  /** Every version, newest first. The state is that of the alert now. */
  async versions(reference: string) {
    const states = await this.#evaluator.states()
    const records = await this.#parts.catalog.versions('alert', this.#find(reference).id)
    return records.reverse().map((record) => this.#view(readAlert(record), states))
  }

  async create(body: unknown, by: string) {
    return this.#save(writableFields(body, readOnly), by)
  }

  /** Omitted fields stay as they are, or get their defaults. */
  change(reference: string, body: unknown, omitted: 'stay' | 'default', { by, expected }: AlertChangeTerms) {
    return lastWins(expected, async () => {
      const current = this.#find(reference, expected)
      const kept = omitted === 'stay' ? current.definition : {}
      return this.#save({ ...kept, ...writableFields(body, readOnly) }, by, current)
    })
  }

  async restore(reference: string, version: number, terms: AlertChangeTerms) {
    const old = await this.#parts.catalog.version('alert', this.#find(reference).id, version)
    if (!old) throw invalidParameter('version', `${reference} has no version ${version}.`)
    return this.change(reference, readAlert(old).definition, 'default', terms)
  }

  async delete(reference: string, { by, expected }: AlertChangeTerms): Promise<void> {
    await lastWins(expected, () => {
      const { id, version, definition, created_at } = this.#find(reference, expected)
      const change = { kind: 'alert', id, version: version + 1, deleted: true } as const
      return this.#parts.catalog.append(by, { ...change, body: { definition, created_at } })
    })
  }

  /** Evaluates now, without changing anything. Also sends a test notification if that is wanted. */
  async test(reference: string, notify: boolean, signal: AbortSignal) {
    const alert = this.#find(reference)
    const known = (await this.#evaluator.states()).get(alert.id)
    const { tested, message } = await this.#evaluate(alert, signal, known)
    if (!notify) return tested
    const notification = notificationFor({ ...message, type: 'alert.test' }, [...alert.targets.keys()])
    const sent = [...alert.targets].map(async ([key, { type, url }]) => {
      return { type, url, ...(await this.#evaluator.deliveries.send(alert, key, notification)) }
    })
    return { ...tested, deliveries: await Promise.all(sent) }
  }

  /** What an alert would do: its state now, what it would send, and when it would have fired in the last day. */
  async preview(body: unknown, signal: AbortSignal) {
    const fields = { name: 'preview', ...writableFields(body, readOnly), notify: [] }
    const record = { id: randomUUID(), version: 1, deleted: false, changed_at: '', changed_by: '' }
    const alert = readAlert({ ...record, body: await this.#prepare(fields) })
    const { tested, message } = await this.#evaluate(alert, signal)
    const firing = { ...message, state: { ...message.state, state: 'firing' as const } }
    return {
      ...tested,
      ...{ webhook: webhookBody(firing), slack: slackBody(firing) },
      history: await pastDecisions(this.#parts, alert, signal),
    }
  }

  async #evaluate(alert: SavedAlert, signal: AbortSignal, known?: AlertState) {
    const { time } = this.#parts
    const all = await readResult(this.#parts, alert, signal)
    const before = known ?? newState(alert.rule, alert.definition.name, time.now())
    const state = afterEvaluation(before, alert.definition, outcomeOf(alert, all), time.now())
    const rows = shownRows(alert, all)
    const message: Message = { type: 'alert.firing', alert, state, rows, time }
    return { tested: { state: state.state, value: state.value, rows }, message }
  }

  async #save(fields: Record<string, unknown>, by: string, current?: SavedAlert) {
    const body = await this.#prepare(fields, current)
    const { id, version } = current ?? { id: randomUUID(), version: 0 }
    await this.#parts.catalog.append(by, { kind: 'alert', id, version: version + 1, deleted: false, body })
    return this.get(id, current?.definition.notify ?? [])
  }

  /** By name. */
  #saved(): SavedAlert[] {
    const alerts = [...this.#evaluator.alerts.values()].filter(({ deleted }) => !deleted)
    return alerts.sort((one, other) => (one.definition.name < other.definition.name ? -1 : 1))
  }

  #find(reference: string, expected?: number): SavedAlert {
    const alerts = this.#saved()
    const names = alerts.map(({ definition }) => definition.name)
    const found = alerts[names.indexOf(reference)] ?? alerts.find(({ id }) => id === reference.toLowerCase())
    if (!found) {
      const sentence = `No alert has the id or name "${reference}"`
      throw resourceNotFound(sentence, closestName(reference, names))
    }
    expectVersion(found, expected)
    return found
  }

  /** Checks the fields of a new or changed alert. */
  async #prepare(fields: Record<string, unknown>, current?: SavedAlert): Promise<StoredAlert> {
    const sent = readShape(alertShape, fields)
    // An alert can be muted or disabled even if its endpoint is gone.
    const queryOf = ({ endpoint, parameters, when }: AlertFields) =>
      JSON.stringify([endpoint, parameters, when])
    if (!current || queryOf(sent) !== queryOf(current.definition)) this.#checkQuery(sent)
    const notify: Target[] = []
    for (const [index, { type, url }] of sent.notify.entries()) {
      const key = targetKey({ type, url })
      if (notify.some((other) => targetKey(other) === key)) {
        throw invalidParameter(`notify.${index}.url`, 'Each target can be in notify once.')
      }
      // A target that is saved already is checked again when something is sent.
      const saved = current?.definition.notify.find((other) => targetKey(other) === key)
      notify.push(saved ?? (await this.#newTarget({ type, url }, index)))
    }
    const created_at = current?.created_at ?? new Date(this.#parts.time.wall.now()).toISOString()
    return { definition: { ...sent, notify }, created_at }
  }

  #checkQuery({ endpoint: reference, parameters, when }: AlertFields): void {
    const endpoint = this.#parts.endpoints.find(reference)
    if (!endpoint) throw invalidParameter('endpoint', `No endpoint has the id or name "${reference}".`)
    const { compiled, columns, definition } = endpoint
    refuseUnknown(endpoint, parameters)
    compiled.check(parameters)
    const { of, column } = parseCondition(when) as Condition
    if (of === 'rows') return
    const type = columns.find(({ name }) => name === column)?.type
    if (type === undefined) {
      const names = columns.map(({ name }) => name).join(', ')
      throw invalidParameter('when', `${definition.name} has no column "${column}". It has ${names}.`)
    }
    if (!/^(?:LowCardinality\()?(?:Nullable\()?(?:U?Int|B?Float|Decimal)/.test(type)) {
      throw invalidParameter('when', `The column "${column}" is not a number but ${type}.`)
    }
  }

  async #newTarget(target: Pick<Target, 'type' | 'url'>, index: number): Promise<Target> {
    try {
      await resolveTarget(target.url, this.#parts.rules)
    } catch (error) {
      if (error instanceof RefusedTarget) throw invalidParameter(`notify.${index}.url`, error.message)
      throw error
    }
    return target.type === 'slack' ? target : { ...target, secret: this.#parts.secrets.create() }
  }

  /** Contains the secrets of targets that were not there before a change. */
  #view(alert: SavedAlert, states: ReadonlyMap<string, AlertState>, before?: readonly Target[]) {
    const { definition, id, version, created_at, updatedAt, updatedBy, rule } = alert
    const known = states.get(id)
    const state = known?.rule === rule ? known : newState(rule, definition.name, Date.parse(updatedAt))
    const iso = (ms: number) => new Date(ms).toISOString()
    const errors = [
      state.error,
      hasUnreadableSecret(alert, this.#parts.secrets) && unreadableSecret,
      state.dropped > 0 && `Notifications that could not be delivered and were dropped: ${state.dropped}.`,
    ]
    return {
      id,
      ...definition,
      notify: definition.notify.map((target) => {
        const { type, url } = target
        const isNew = before?.every((other) => targetKey(other) !== targetKey(target)) ?? false
        const secret = isNew && target.secret !== undefined && this.#parts.secrets.read(target.secret)
        const isOff = state.off.length > 0 && state.off.includes(targetKey(target))
        return { type, url, ...(secret && { secret }), ...(isOff && { switched_off: true }) }
      }),
      state: state.state,
      since: iso(state.sinceMs),
      evaluated_at: state.evaluatedMs === null ? null : iso(state.evaluatedMs),
      value: state.value,
      error: errors.filter(Boolean).join(' ') || null,
      ...{ version, created_at, updated_at: updatedAt, updated_by: updatedBy },
    }
  }
}
