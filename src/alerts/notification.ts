import { randomUUID } from 'node:crypto'
import type { Timers } from '../base/clock.ts'
import type { SavedAlert, Target } from './alert.ts'
import { type GroupState, groupView, keyText } from './alert-groups.ts'
import type { AlertState, Notification, NotificationType } from './alert-state.ts'
import { decidingRows, type ResultRows, type Row } from './condition.ts'

const maxRows = 10

/** Receivers often limit bodies, so rows are left out beyond this size. */
const maxLength = 32 * 1024

/** Slack cuts messages after 40,000 characters, which could cut the end of code. A character takes up to five. */
const maxTableLength = 2500
const maxTextLength = 1500
const maxGroupLines = 60

export interface Message {
  type: NotificationType
  alert: SavedAlert
  state: AlertState
  rows: readonly Row[]
  /** Of an alert by group: those that changed. */
  groups?: readonly GroupState[] | undefined
  time: Timers
  publicUrl: string | undefined
}

/** The rows of a result that a notification contains: those that meet a condition about any row, or all. */
export function shownRows({ condition }: SavedAlert, result: ResultRows): Row[] {
  const shown: Row[] = []
  let length = 0
  for (const row of decidingRows(condition, result).slice(0, maxRows)) {
    length += JSON.stringify(row).length
    if (length > maxLength) break
    shown.push(row)
  }
  return shown
}

/** The page of the alert in the console. */
function pageOf({ alert, publicUrl }: Message): string | undefined {
  return publicUrl && `${publicUrl}/console/alerts/${encodeURIComponent(alert.definition.name)}`
}

/** The body of a webhook, in the form of Standard Webhooks. */
export function webhookBody(message: Message) {
  const { type, alert, state, rows, groups, time } = message
  const { name, when, endpoint, parameters } = alert.definition
  const url = pageOf(message)
  return {
    type,
    timestamp: new Date(time.wall.now()).toISOString(),
    data: {
      alert: { id: alert.id, name },
      state: state.state,
      previous_state: state.previous,
      value: state.value,
      when,
      endpoint,
      parameters,
      rows,
      ...(url && { url }),
      ...(groups && { groups: groups.map(groupView) }),
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

/** The body of Slack's incoming webhooks. Texts from logs are in code only, where no markup has an effect. */
export function slackBody(message: Message) {
  const { type, alert, state, rows, groups = [] } = message
  const { name, description, when, endpoint, parameters } = alert.definition
  const call = [endpoint, ...Object.entries(parameters).map(([key, value]) => `${key}=${value}`)].join(' ')
  const table = rows.map((row) => JSON.stringify(row)).join('\n')
  const url = pageOf(message)
  const lines = [
    headlines[type].replace('%', () => escaped(name)),
    `${inlineCode(when)}${state.value === null ? '' : `, value ${state.value}`}, ${inlineCode(call)}`,
    ...groups.slice(0, maxGroupLines).map(groupLine),
    ...(groups.length > maxGroupLines ? [`and ${groups.length - maxGroupLines} more`] : []),
    ...(type === 'alert.failing' ? [inlineCode(state.error ?? 'Unknown error.')] : []),
    // A fence in it would begin a code block that ends where the rows begin.
    escaped(cut(description, maxTextLength)).replaceAll('```', '\u02cb\u02cb\u02cb'),
    ...(rows.length > 0
      ? [`\`\`\`${cut(table, maxTableLength).split('\n').map(code).join('\n')}\`\`\``]
      : []),
    ...(url ? [`<${url}|Open the alert>`] : []),
  ]
  return {
    text: lines
      .filter((line) => line !== '')
      .join('\n')
      .toWellFormed(),
  }
}

function groupLine({ key, state, value }: GroupState): string {
  const icon = state === 'firing' ? ':red_circle:' : ':large_green_circle:'
  return `${icon} \`${code(cut(keyText(key), 120))}\` ${state}${value === null ? '' : `, value ${value}`}`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function cut(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
}

function inlineCode(text: string): string {
  return `\`${code(cut(text, maxTextLength))}\``
}

/** Slack has no escape for backticks. A line break would end code, and another direction of writing would hide text. */
function code(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu, ' ')
  return escaped(line.replaceAll('`', '\u02cb'))
}

/** What each type of target receives, and whether a secret of the target signs it. */
export const targetForms: Record<
  Target['type'],
  { bodyOf: (message: Message) => object; isSigned: boolean }
> = {
  webhook: { bodyOf: webhookBody, isSigned: true },
  slack: { bodyOf: slackBody, isSigned: false },
}

/** The notification for targets with these keys. */
export function notificationFor(message: Message, keys: readonly string[]): Notification {
  const { type, alert, time } = message
  const nowMs = time.now()
  const types = new Set(keys.flatMap((key) => alert.targets.get(key)?.type ?? []))
  return {
    id: `msg_${randomUUID().replaceAll('-', '')}`,
    type,
    createdMs: nowMs,
    bodies: Object.fromEntries(
      [...types].map((type) => [type, JSON.stringify(targetForms[type].bodyOf(message))]),
    ),
    to: new Map(keys.map((key) => [key, { count: 0, nextMs: nowMs }])),
  }
}
