import type { Entry } from '../../api/shapes.ts'

/** The status or level of an entry. */
interface EntryMark {
  text: string
  tone: 'bad' | 'warn' | 'plain'
}

/** Where log libraries write the status of a response and the level. */
const statusPaths = ['response.status_code', 'res.statusCode', 'status_code', 'status', 'http.status_code']
const levelPaths = ['level', 'severity_text', 'severity', 'parsed.error_severity', 'log_level']

const bad = /^(?:err|error|fatal|crit|critical|alert|emerg|emergency|panic|severe)$/i
const warn = /^(?:warn|warning)$/i
const good = /^(?:info|information|log|notice|ok)$/i
const quiet = /^(?:debug\d?|trace|verbose)$/i
/** The numeric levels of pino and bunyan. */
const numbered: Record<string, string> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}

/** The status or the level of an entry, whichever is worse; undefined where it has neither. */
export function markOf({ metadata }: Pick<Entry, 'metadata'>): EntryMark | undefined {
  const marks = [statusMark(firstAt(metadata, statusPaths)), levelMark(firstAt(metadata, levelPaths))]
  const found = marks.filter((mark) => mark !== undefined)
  return found.find(({ tone }) => tone === 'bad') ?? found.find(({ tone }) => tone === 'warn') ?? found.at(0)
}

function statusMark(value: unknown): EntryMark | undefined {
  const status = Number(value)
  if (!Number.isInteger(status) || status < 100 || status > 599) return undefined
  return { text: String(status), tone: status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'plain' }
}

function levelMark(value: unknown): EntryMark | undefined {
  const text = numbered[String(value)] ?? value
  if (typeof text !== 'string' || text === '' || text.length > 12) return undefined
  return { text: text.toLowerCase(), tone: bad.test(text) ? 'bad' : warn.test(text) ? 'warn' : 'plain' }
}

/** Undefined where the text is not a known level. */
export function levelTone(text: string): 'bad' | 'warn' | 'good' | 'other' | undefined {
  if (bad.test(text)) return 'bad'
  if (warn.test(text)) return 'warn'
  if (good.test(text)) return 'good'
  return quiet.test(text) ? 'other' : undefined
}

function firstAt(metadata: Record<string, unknown>, paths: readonly string[]): unknown {
  for (const path of paths) {
    const value = path
      .split('.')
      .reduce<unknown>(
        (inside, key) => (inside as Record<string, unknown> | null | undefined)?.[key],
        metadata,
      )
    if (typeof value === 'string' || typeof value === 'number') return value
  }
  return undefined
}
