import { randomUUID } from 'node:crypto'
import type { Target } from '../alert.ts'
import { targetKey } from '../alert.ts'
import type { AlertState, Notification, NotificationType } from '../alert-state.ts'
import { type Row, tellingRows } from '../condition.ts'
import type { SavedAlert } from '../saved-alerts.ts'

const maxRows = 10

/** Receivers often limit bodies, so rows are left out beyond this size. */
const maxRowBytes = 32 * 1024

type Told = Pick<AlertState, 'state' | 'previous' | 'value' | 'error'>

export interface Message {
  type: NotificationType
  alert: SavedAlert
  /** Current name of the endpoint. */
  endpoint: string
  state: Told
  rows: readonly Row[]
  nowMs: number
  wallMs: number
}

/** The rows of a result that a notification contains. */
export function shownRows({ condition }: SavedAlert, rows: readonly Row[]): Row[] {
  let bytes = 0
  return tellingRows(condition, rows, maxRows).filter((row) => {
    bytes += Buffer.byteLength(JSON.stringify(row))
    return bytes <= maxRowBytes
  })
}

/** The body of a webhook, in the form of Standard Webhooks. */
export function webhookBody({ type, alert, endpoint, state, rows, wallMs }: Message): string {
  const { definition, id } = alert
  return JSON.stringify({
    type,
    timestamp: new Date(wallMs).toISOString(),
    data: {
      alert: { id, name: definition.name },
      state: state.state,
      previous_state: state.previous,
      value: state.value,
      when: definition.when,
      endpoint,
      parameters: definition.parameters,
      rows,
      ...(type === 'alert.failing' && { error: state.error }),
    },
  })
}

const headlines = {
  'alert.firing': ':red_circle: *%* is firing',
  'alert.resolved': ':large_green_circle: *%* is resolved',
  'alert.failing': ':warning: *%* cannot be evaluated',
  'alert.test': ':information_source: Test of *%*',
} as const

/** The body of Slack's incoming webhooks. */
export function slackBody({ type, alert, endpoint, state, rows }: Message): string {
  const { name, description, when, parameters } = alert.definition
  const call = [endpoint, ...Object.entries(parameters).map(([key, value]) => `${key}=${value}`)].join(' ')
  const lines = [
    headlines[type].replace('%', () => escaped(name)),
    `\`${escaped(when)}\`${state.value === null ? '' : `, value ${state.value}`}, \`${escaped(call)}\``,
    ...(type === 'alert.failing' && state.error !== null ? [escaped(state.error)] : []),
    ...(description === '' ? [] : [escaped(description)]),
    ...(rows.length > 0
      ? [`\`\`\`${escaped(rows.map((row) => JSON.stringify(row)).join('\n')).slice(0, 2500)}\`\`\``]
      : []),
  ]
  return JSON.stringify({ text: lines.join('\n') })
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** One notification per target that is not switched off. They share an id, which receivers use to recognize repeats. */
export function notificationsFor(message: Message, off: AlertState['off'] = []): Notification[] {
  const { alert, type, nowMs } = message
  const id = `msg_${randomUUID().replaceAll('-', '')}`
  const isOn = (target: Target) => !off.some((each) => each.target === targetKey(target))
  return alert.definition.notify.filter(isOn).map((target) => ({
    id,
    type,
    target,
    body: target.type === 'slack' ? slackBody(message) : webhookBody(message),
    createdMs: nowMs,
    attempts: 0,
    nextMs: nowMs,
  }))
}
