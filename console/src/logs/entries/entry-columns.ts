import { type ColumnKind, columnKindOf } from '../../../../src/shared/column-kind.ts'
import { keysOf, pathOf, shownPath } from '../../../../src/shared/path-text.ts'
import type { FoundEntry } from '../../api/entry-search.ts'
import { type Unit, valueText } from '../../charts/series.ts'
import { readable } from '../../ui/text/format.ts'
import { levelName, levelTone } from '../levels.ts'

type Kind = ColumnKind | 'message' | 'project' | 'text'

/** More than fits on any screen. */
const maxText = 600

/** What a column shows, which decides how. */
export function kindOf(path: string): Kind {
  if (path === 'message' || path === 'event_message') return 'message'
  if (path === 'project') return 'project'
  return columnKindOf(path) ?? 'text'
}

const widths: Record<Kind, number> = {
  level: 56,
  method: 60,
  status: 52,
  duration: 84,
  error: 300,
  message: 280,
  project: 110,
  route: 140,
  text: 140,
}

/** As wide as its values usually are, and as its title. */
export const widthOf = (path: string): number =>
  Math.max(widths[kindOf(path)], Math.min(160, titleOf(path).length * 7.5 + 14))

/** Columns shrink to this before the list is wider than its window. */
const leastWidths: Record<Kind, number> = {
  level: 50,
  method: 52,
  status: 48,
  duration: 64,
  error: 110,
  message: 180,
  project: 84,
  route: 80,
  text: 80,
}

export const leastWidthOf = (path: string): number => leastWidths[kindOf(path)]

/** The name of a column for its head: the last key, or the last two where it would say little. */
export function titleOf(path: string): string {
  const keys = keysOf(path)
  const last = keys.at(-1) ?? path
  const isVague = /^(?:id|name|code|type|message|value|key|path)$/i.test(last)
  return shownPath(pathOf(isVague ? keys.slice(-2) : [last]))
}

export interface Cell {
  text: string
  tone: 'bad' | 'warn' | 'plain'
}

/** What an entry has in a column. */
export function cellOf(entry: FoundEntry, path: string): Cell {
  const value = valueAt(entry, path)
  const text = textOf(value)
  const cell = (shown: string, tone: Cell['tone'] = 'plain'): Cell => ({
    text: shown.slice(0, maxText),
    tone,
  })
  if (text === '') return cell('')
  switch (kindOf(path)) {
    case 'level': {
      const level = levelName(text)
      const tone = levelTone(level)
      return cell(level, tone === 'bad' || tone === 'warn' ? tone : 'plain')
    }
    case 'status':
      return cell(text, /^5\d\d$/.test(text) ? 'bad' : /^4\d\d$/.test(text) ? 'warn' : 'plain')
    case 'duration':
      return cell(durationText(text, keysOf(path).at(-1) ?? ''))
    case 'error':
      return cell(text, 'bad')
    default:
      return cell(text)
  }
}

function durationText(text: string, key: string): string {
  const value = Number(text)
  if (!Number.isFinite(value)) return text
  if (/_?ns$/i.test(key)) return valueText(value / 1000, 'us')
  const unit = unitOf(key)
  // Without a unit, 59.48M would say nothing.
  return unit === undefined ? readable(value) : valueText(value, unit)
}

/** Without a unit in its name, a time is in milliseconds, and other durations have none. */
function unitOf(key: string): Unit | undefined {
  if (/us$/i.test(key)) return 'us'
  if (/ms$|time$/i.test(key)) return 'ms'
  return /(?:^|_)s$|seconds$/i.test(key) ? 's' : undefined
}

export function valueAt({ project, id, event_message, metadata, source }: FoundEntry, path: string): unknown {
  const own: Record<string, unknown> = {
    ...(source !== undefined && { source }),
    project,
    id,
    event_message,
    message: event_message,
  }
  if (Object.hasOwn(own, path)) return own[path]
  return keysOf(path.replace(/^metadata\./, '')).reduce<unknown>(
    (inside, key) =>
      typeof inside === 'object' && inside !== null && Object.hasOwn(inside, key)
        ? (inside as Record<string, unknown>)[key]
        : undefined,
    metadata,
  )
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
