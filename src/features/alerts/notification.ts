import { randomUUID } from 'node:crypto'
import type { Timers } from '../../core/base/clock.ts'
import type { Address, SavedAlert } from './alert.ts'
import { type GroupState, groupView, keyText } from './alert-groups.ts'
import type { AlertState, Notification, NotificationType } from './alert-state.ts'
import { decidingRows, type ResultRows, type Row } from './condition.ts'

const maxRows = 10

/** Receivers often limit bodies, so rows are left out beyond this size. */
const maxLength = 32 * 1024

/** Slack cuts messages after 40,000 characters, which could cut the end of code. A character takes up to five. */
const maxTableLength = 2500
const maxTextLength = 1500
const maxGroupsLength = 15_000

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

const headlines: Record<NotificationType, readonly [icon: string, text: string]> = {
  'alert.firing': [':red_circle:', '% is firing'],
  'alert.resolved': [':large_green_circle:', '% is resolved'],
  'alert.failing': [':warning:', '% cannot be evaluated'],
  'alert.test': [':information_source:', 'Test of %'],
}

/** How a message for people marks its parts. */
interface Markup {
  headline: (icon: string, text: string, name: string) => string
  group: (icon: string, key: string) => string
  /** In one line. */
  code: (text: string) => string
  plain: (text: string) => string
  block: (lines: readonly string[]) => string
  link: (url: string) => string
}

function textOf(message: Message, markup: Markup): string {
  const { type, alert, state, rows, groups = [] } = message
  const { name, description, when, endpoint, parameters } = alert.definition
  const call = [endpoint, ...Object.entries(parameters).map(([key, value]) => `${key}=${value}`)].join(' ')
  const table = cut(rows.map((row) => JSON.stringify(row)).join('\n'), maxTableLength)
  const [icon, headline] = headlines[type]
  const url = pageOf(message)
  const withValue = (text: string, value: number | null) =>
    value === null ? text : `${text}, value ${value}`
  const code = (text: string) => markup.code(cut(text, maxTextLength))
  let groupsLength = 0
  const groupLines = groups.map((group) => {
    const icon = group.state === 'firing' ? ':red_circle:' : ':large_green_circle:'
    return withValue(`${markup.group(icon, cut(keyText(group.key), 120))} ${group.state}`, group.value)
  })
  const shownGroups = groupLines.filter((line) => {
    groupsLength += line.length
    return groupsLength <= maxGroupsLength
  })
  const lines = [
    markup.headline(icon, headline, name),
    `${withValue(code(when), state.value)}, ${code(call)}`,
    ...shownGroups,
    ...(groups.length > shownGroups.length ? [`and ${groups.length - shownGroups.length} more`] : []),
    ...(type === 'alert.failing' ? [code(state.error ?? 'Unknown error.')] : []),
    markup.plain(cut(description, maxTextLength)),
    ...(rows.length > 0 && groups.length === 0 ? [markup.block(table.split('\n'))] : []),
    ...(url ? [markup.link(url)] : []),
  ]
  return lines
    .filter((line) => line !== '')
    .join('\n')
    .toWellFormed()
}

/** The body of Slack's incoming webhooks. Texts from logs are in code only, where no markup has an effect. */
export function slackBody(message: Message) {
  const text = textOf(message, {
    headline: (icon, text, name) => `${icon} ${text.replace('%', () => `*${escaped(name)}*`)}`,
    group: (icon, key) => `${icon} \`${slackCode(key)}\``,
    code: (text) => `\`${slackCode(text)}\``,
    // A fence in it would begin a code block that ends where the rows begin.
    plain: (text) => escaped(text).replaceAll('```', '\u02cb\u02cb\u02cb'),
    block: (lines) => `\`\`\`${lines.map(slackCode).join('\n')}\`\`\``,
    link: (url) => `<${url}|Open the alert>`,
  })
  return { text }
}

/** The body of an email is plain text. Its subject has nothing from logs. */
export function emailBody(message: Message) {
  const headline = (text: string) => text.replace('%', () => message.alert.definition.name)
  const text = textOf(message, {
    headline: (_icon, text) => `${headline(text)}\n`,
    group: (_icon, key) => oneLine(key),
    code: oneLine,
    plain: (text) => text && `\n${text}`,
    block: (lines) => `\n${lines.map(oneLine).join('\n')}`,
    link: (url) => `\n${url}`,
  })
  return { subject: headline(headlines[message.type][1]), text: `${text}\n` }
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function cut(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
}

/** A line break would end code, and another direction of writing would hide text. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu, ' ')
}

/** Slack has no escape for backticks. */
function slackCode(text: string): string {
  return escaped(oneLine(text).replaceAll('`', '\u02cb'))
}

/** What each type of target receives, and whether a secret of the target signs it. Previews show all of them. */
export const targetForms: Record<
  Address['type'],
  { bodyOf: (message: Message) => object; isSigned: boolean; content: string }
> = {
  webhook: { bodyOf: webhookBody, isSigned: true, content: 'What a webhook would receive.' },
  slack: { bodyOf: slackBody, isSigned: false, content: 'What Slack would receive.' },
  email: { bodyOf: emailBody, isSigned: false, content: 'What an email would contain.' },
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
