import { randomUUID } from 'node:crypto'
import type { Timers } from '../base/clock.ts'
import { type SavedAlert, targetKey } from './alert.ts'
import type { AlertState, Notification, NotificationType } from './alert-state.ts'
import { decide, type Row } from './condition.ts'

const maxRows = 10

/** Receivers often limit bodies, so rows are left out beyond this size. */
const maxLength = 32 * 1024

export interface Message {
  type: NotificationType
  alert: SavedAlert
  state: AlertState
  rows: readonly Row[]
  time: Timers
}

/** The rows of a result that a notification contains: those that meet a condition about any row, or all. */
export function shownRows({ condition }: SavedAlert, rows: readonly Row[]): Row[] {
  const meeting = condition.of === 'any' ? rows.filter((row) => decide(condition, [row]).met) : []
  const shown = (meeting.length > 0 ? meeting : rows).slice(0, maxRows)
  while (JSON.stringify(shown).length > maxLength) shown.pop()
  return shown
}

/** The body of a webhook, in the form of Standard Webhooks. */
export function webhookBody({ type, alert, state, rows, time }: Message) {
  const { name, when, endpoint, parameters } = alert.definition
  return {
    type,
    timestamp: new Date(time.wall.now()).toISOString(),
    data: {
      alert: { id: alert.id, name },
      state: state.state,
      previous_state: state.previous,
      value: state.value,
      ...{ when, endpoint, parameters, rows },
      ...(type === 'alert.failing' && { error: state.error }),
    },
  }
}

const headlines = {
  'alert.firing': ':red_circle: *%* is firing',
  'alert.resolved': ':large_green_circle: *%* is resolved',
  'alert.failing': ':warning: *%* cannot be evaluated',
  'alert.test': ':information_source: Test of *%*',
} as const

/** The body of Slack's incoming webhooks. */
export function slackBody({ type, alert, state, rows }: Message) {
  const { name, description, when, endpoint, parameters } = alert.definition
  const call = [endpoint, ...Object.entries(parameters).map(([key, value]) => `${key}=${value}`)].join(' ')
  const table = rows.map((row) => JSON.stringify(row)).join('\n')
  const lines = [
    headlines[type].replace('%', () => escaped(name)),
    `\`${escaped(when)}\`${state.value === null ? '' : `, value ${state.value}`}, \`${escaped(call)}\``,
    ...(type === 'alert.failing' ? [escaped(state.error ?? '')] : []),
    escaped(description),
    ...(rows.length > 0 ? [`\`\`\`${escaped(table).slice(0, 2500)}\`\`\``] : []),
  ]
  return { text: lines.filter((line) => line !== '').join('\n') }
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** One notification per target that is not switched off. They share an id, which receivers use to recognize repeats. */
export function notificationsFor(message: Message): Notification[] {
  const { alert, type, state, time } = message
  const nowMs = time.now()
  const id = `msg_${randomUUID().replaceAll('-', '')}`
  const targets = alert.definition.notify.filter((target) => !state.off.includes(targetKey(target)))
  return targets.map((target) => {
    const body = JSON.stringify(target.type === 'slack' ? slackBody(message) : webhookBody(message))
    return { id, type, target, body, createdMs: nowMs, attempts: 0, nextMs: nowMs }
  })
}
