import type { Entry, Json } from './entries.ts'
import type { Row } from './question.ts'

/** An expression of SQL, and its value for an entry. */
export interface Term {
  sql: string
  of(entry: Entry): Json
}

/** A condition; null is neither true nor false. */
export interface Condition {
  sql: string
  holds(entry: Entry): boolean | null
}

export const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`

/** The value at a path of the metadata, as an alias of UNNEST reads it. */
export function at(entry: Entry, path: string): Json {
  let value: Json = entry.metadata
  for (const key of path.split('.')) {
    // Objects are arrays of one object for BigQuery.
    const inner: Json = Array.isArray(value) ? ((value as readonly Json[])[0] ?? null) : value
    if (inner === null || typeof inner !== 'object' || Array.isArray(inner)) return null
    value = (inner as Record<string, Json>)[key] ?? null
  }
  return value
}

export const field = (sql: string, path: string): Term => ({ sql, of: (entry) => at(entry, path) })

export const message: Term = { sql: 'event_message', of: (entry) => entry.event_message }

export function textOf(value: Json): string | null {
  return value === null || typeof value === 'object' ? null : String(value)
}

export function numberOf(value: Json): number | null {
  const text = textOf(value)
  return text !== null && text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : null
}

const compared =
  (term: Term, test: (text: string) => boolean) =>
  (entry: Entry): boolean | null => {
    const text = textOf(term.of(entry))
    return text === null ? null : test(text)
  }

const measured =
  (term: Term, test: (number: number) => boolean) =>
  (entry: Entry): boolean | null => {
    const number = numberOf(term.of(entry))
    return number === null ? null : test(number)
  }

export const equals = (term: Term, value: string): Condition => ({
  sql: `${term.sql} = ${quoted(value)}`,
  holds: compared(term, (text) => text === value),
})

export const isIn = (term: Term, values: readonly string[], not = ''): Condition => ({
  sql: `${term.sql} ${not}in (${values.map(quoted).join(', ')})`,
  holds: compared(term, (text) => values.includes(text) === (not === '')),
})

/** With a pattern that has a percent sign at its ends only, as Studio's filters do. */
export const isLike = (term: Term, pattern: string, word: 'like' | 'LIKE' | 'ilike' = 'like'): Condition => {
  const fold = (text: string) => (word === 'ilike' ? text.toLowerCase() : text)
  const inner = fold(pattern.replace(/^%|%$/g, ''))
  const [open, close] = [pattern.startsWith('%'), pattern.length > 1 && pattern.endsWith('%')]
  return {
    sql: `${term.sql} ${word} ${quoted(pattern)}`,
    holds: compared(term, (text) => {
      const whole = fold(text)
      if (open && close) return whole.includes(inner)
      return open ? whole.endsWith(inner) : close ? whole.startsWith(inner) : whole === inner
    }),
  }
}

/** What LIKE does with a pattern: a backslash makes a wildcard an ordinary character. */
export function like(pattern: string): (text: string) => boolean {
  const parts = pattern.match(/\\[%_\\]|[\s\S]/g) ?? []
  const source = parts.map((part) => {
    if (part === '%') return '[\\s\\S]*'
    if (part === '_') return '[\\s\\S]'
    const literal = part.length === 2 ? part.charAt(1) : part
    return literal.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  })
  const expression = new RegExp(`^${source.join('')}$`, 'u')
  return (text) => expression.test(text)
}

export const isBetween = (term: Term, least: number, most: number): Condition => ({
  sql: `${term.sql} between ${least} and ${most}`,
  holds: measured(term, (number) => number >= least && number <= most),
})

const operators: Record<string, (a: number, b: number) => boolean> = {
  '>=': (a, b) => a >= b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '<': (a, b) => a < b,
  '=': (a, b) => a === b,
  '!=': (a, b) => a !== b,
}

export const compares = (term: Term, operator: string, number: number): Condition => ({
  sql: `${term.sql} ${operator} ${number}`,
  holds: measured(term, (value) => operators[operator]?.(value, number) === true),
})

/** Studio doubles quotes and backslashes of what a user types. */
export const matches = (term: Term, pattern: string): Condition => {
  const expression = new RegExp(pattern, 's')
  return {
    sql: `regexp_contains(${term.sql}, ${quoted(pattern)})`,
    holds: compared(term, (text) => expression.test(text)),
  }
}

export const isNull = (term: Term, not = ''): Condition => ({
  sql: `${term.sql} is ${not}null`,
  holds: (entry) => (term.of(entry) === null) === (not === ''),
})

export const never: Condition = { sql: 'false', holds: () => false }

export const both = (one: Condition, other: Condition): Condition => ({
  sql: `${one.sql} and ${other.sql}`,
  holds: (entry) => {
    const [a, b] = [one.holds(entry), other.holds(entry)]
    return a === false || b === false ? false : a === null || b === null ? null : true
  },
})

export const either = (...some: readonly Condition[]): Condition => ({
  sql: `(${some.map(({ sql }) => sql).join(' or ')})`,
  holds: (entry) => {
    const found = some.map((one) => one.holds(entry))
    return found.includes(true) ? true : found.includes(null) ? null : false
  },
})

/** The gateway takes a test of a missing field for false, so that entries without a status count as successful. */
export const negated = (one: Condition): Condition => ({
  sql: `NOT (${one.sql})`,
  holds: (entry) => one.holds(entry) !== true,
})

/** As metadata is returned: nested objects are arrays of one object. */
export function nested(value: Json): Json {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) {
    return value.map((item: Json) => {
      const inner = nested(item)
      return isObject(item) ? ((inner as readonly Json[])[0] ?? null) : inner
    })
  }
  return [Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, nested(inner)]))]
}

const isObject = (value: Json) => value !== null && typeof value === 'object' && !Array.isArray(value)

/** Studio's panel reads the headers of a request without a guard, so the gateway adds them. */
export function shownMetadata({ table, metadata }: Entry): Json {
  const { request } = metadata
  if (table !== 'edge_logs' || !isObject(request ?? null)) return nested(metadata)
  const fields = request as Record<string, Json>
  if ((fields.headers ?? null) !== null) return nested(metadata)
  const { headers: _, ...others } = fields
  return nested({ ...metadata, request: { headers: {}, ...others } })
}

export const newestFirst = (one: Entry, other: Entry) =>
  other.micros - one.micros || (one.id < other.id ? 1 : one.id > other.id ? -1 : 0)

export function groupedBy<Key extends string | number>(
  entries: readonly Entry[],
  keyOf: (entry: Entry) => Key,
): Map<Key, Entry[]> {
  const groups = new Map<Key, Entry[]>()
  for (const entry of entries) groups.set(keyOf(entry), [...(groups.get(keyOf(entry)) ?? []), entry])
  return groups
}

const unitMicros = { second: 1e6, minute: 6e7, hour: 36e8, day: 864e8 }
export type Unit = keyof typeof unitMicros
export const truncated = (micros: number, unit: Unit) => micros - (micros % unitMicros[unit])

/** A datetime without a zone, as BigQuery returns it. */
export function dateTime(micros: number): string {
  const rest = micros % 1e6
  const whole = new Date((micros - rest) / 1000).toISOString().slice(0, 19)
  return rest === 0 ? whole : `${whole}.${String(rest).padStart(6, '0')}`
}

/** Rows by bucket, oldest first. */
export function byTime(
  entries: readonly Entry[],
  unit: Unit,
  row: (group: readonly Entry[]) => Row,
  as: (micros: number) => Json,
): Row[] {
  const groups = groupedBy(entries, ({ micros }) => truncated(micros, unit))
  return [...groups]
    .sort(([one], [other]) => one - other)
    .map(([micros, group]) => ({ timestamp: as(micros), ...row(group) }))
}

export function byValues(
  entries: readonly Entry[],
  values: (entry: Entry) => Json[],
  row: (values: Json[], group: readonly Entry[]) => Row,
): Row[] {
  const groups = groupedBy(entries, (entry) => JSON.stringify(values(entry)))
  return [...groups].map(([key, group]) => row(JSON.parse(key), group))
}

export const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)
