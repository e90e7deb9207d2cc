import { randomUUID } from 'node:crypto'
import { sentFields } from '../../core/definitions/kind.ts'
import { mayRead, type Reader } from '../../core/definitions/visibility.ts'
import { addressOf, readAlert, type SavedAlert } from './alert.ts'
import { evaluateGroups, evaluateWhole, groupView } from './alert-groups.ts'
import { alerts, prepareAlert } from './alert-kind.ts'
import type { AlertParts } from './alert-parts.ts'
import { outcomeOf, pastDecisions, readResult } from './alert-results.ts'
import { type AlertState, evaluate as evaluateState, newState } from './alert-state.ts'
import type { Evaluator } from './evaluator.ts'
import { type Message, notificationFor, shownRows, targetForms } from './notification.ts'

export type AlertTests = ReturnType<typeof alertTests>

/** Evaluates alerts on request, without changing anything. */
export function alertTests(parts: AlertParts, evaluator: Evaluator) {
  const evaluate = async (alert: SavedAlert, signal: AbortSignal, known?: AlertState) => {
    const { time, publicUrl } = parts
    const all = await readResult(parts, alert, signal)
    const now = time.now()
    const state = { ...(known ?? newState(alert.rule, alert.definition.name, now)) }
    const copies = (state.groups ?? []).map((group) => ({ ...group }))
    const groups = alert.definition.by.length > 0 ? evaluateGroups(alert, copies, all, now).groups : undefined
    if (groups) evaluateWhole(state, groups, now)
    else evaluateState(state, alert.definition, outcomeOf(alert, all), now)
    const rows = shownRows(alert, all)
    const message: Message = { type: 'alert.firing', alert, state, rows, groups, time, publicUrl }
    const tested = { state: state.state, value: state.value, rows }
    return { tested: { ...tested, ...(groups && { groups: groups.map(groupView) }) }, message }
  }
  return {
    /** The groups as they were last evaluated. */
    async groups(alert: SavedAlert) {
      const state = (await evaluator.states()).get(alert.id)
      const groups = (state?.rule === alert.rule && state.groups) || []
      const { muted_groups } = alert.definition
      return groups.map((group) => ({ ...groupView(group), muted_until: muted_groups[group.id] ?? null }))
    },

    /** Also sends a test notification if that is wanted. */
    async test(alert: SavedAlert, notify: boolean, signal: AbortSignal) {
      const known = (await evaluator.states()).get(alert.id)
      const { tested, message } = await evaluate(alert, signal, known)
      if (!notify) return tested
      const notification = notificationFor({ ...message, type: 'alert.test' }, [...alert.targets.keys()])
      const sent = [...alert.targets].map(async ([key, target]) => {
        return { ...addressOf(target), ...(await evaluator.deliveries.send(alert, key, notification)) }
      })
      return { ...tested, deliveries: await Promise.all(sent) }
    },

    /** What an alert would do: its state now, what it would send, and when it would have fired in the last day. */
    async preview(body: unknown, reader: Reader, signal: AbortSignal) {
      const fields = { name: 'preview', ...sentFields(alerts, body), notify: [] }
      const find = (reference: string) => {
        const endpoint = parts.endpoints.find(reference)
        return endpoint && mayRead(reader, endpoint.definition) ? endpoint : undefined
      }
      const definition = await prepareAlert(parts, fields, { find, areChanged: false })
      const record = { id: randomUUID(), version: 1, deleted: false, changed_at: '', changed_by: '' }
      const alert = readAlert({ ...record, body: { definition, created_at: '', note: '' } })
      const { tested, message } = await evaluate(alert, signal)
      const firing = { ...message, state: { ...message.state, state: 'firing' as const } }
      const bodies = Object.entries(targetForms).map(([type, { bodyOf }]) => [type, bodyOf(firing)])
      const history = await pastDecisions(parts, alert, signal)
      return { ...tested, ...Object.fromEntries(bodies), history }
    },
  }
}
