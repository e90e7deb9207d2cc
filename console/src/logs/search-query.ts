/** One condition of a search, as the service expects it. */
export interface SearchCondition {
  path: string
  is: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'exists' | 'contains'
  value: string
  /** Inverts the condition. */
  not?: true
}

export interface ParsedSearch {
  text: string[]
  filters: SearchCondition[]
}

const token = /-?(?:"(?:[^"\\]|\\.)*"|[^\s":]+):(?:"(?:[^"\\]|\\.)*"|\S*)|-?"(?:[^"\\]|\\.)*"|\S+/g
const numeric = { '>=': 'gte', '<=': 'lte', '>': 'gt', '<': 'lt' } as const

/**
 * Words and "phrases" must be in the message; `path:value` compares metadata, `path:>=400` compares numbers, and `path:*`
 * requires a value. A minus before any of them excludes.
 */
export function parseSearch(query: string): ParsedSearch {
  const text: string[] = []
  const filters: SearchCondition[] = []
  for (const [part] of query.matchAll(token)) {
    const filter = filterOf(part) ?? exclusionOf(part)
    if (filter) filters.push(filter)
    else if (unquoted(part) !== '') text.push(unquoted(part))
  }
  return { text, filters }
}

function filterOf(part: string): SearchCondition | undefined {
  const match = /^(-?)("(?:[^"\\]|\\.)*"|[A-Za-z_][^\s":]*):(?!\/\/)(.+)$/.exec(part)
  if (!match) return undefined
  const [, minus = '', name = '', raw = ''] = match
  const path = unquoted(name)
  const inverted = minus === '' ? {} : { not: true as const }
  if (raw === '*') return { path, is: 'exists', value: '', ...inverted }
  const sign = /^(>=|<=|>|<)/.exec(raw)?.[1] as keyof typeof numeric | undefined
  if (sign) return { path, is: numeric[sign], value: raw.slice(sign.length), ...inverted }
  return { path, is: minus === '' ? 'eq' : 'ne', value: unquoted(raw) }
}

/** A word that the message must not contain. A dash alone or before another dash is text. */
function exclusionOf(part: string): SearchCondition | undefined {
  const word = unquoted(/^-([^-].*)$/s.exec(part)?.[1] ?? '')
  return word === '' ? undefined : { path: 'event_message', is: 'contains', value: word, not: true }
}

function unquoted(text: string): string {
  return /^".*"$/s.test(text) && text.length > 1 ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text
}

function quoted(text: string): string {
  return /^[^\s":<>*\\-][^\s":\\]*$/.test(text) ? text : `"${text.replace(/(["\\])/g, '\\$1')}"`
}

/** Adds a condition unless the query has it already. */
export function withCondition(query: string, path: string, value: string, exclude = false): string {
  const condition = `${exclude ? '-' : ''}${quoted(path)}:${quoted(value)}`
  const parts = [...query.matchAll(token)].map(([part]) => part)
  return parts.includes(condition) ? query : [...parts, condition].join(' ')
}

/** The path of nested keys, as the service writes it: a dot inside a key is `%2E`. */
export function pathOf(keys: readonly string[]): string {
  return keys.map((key) => key.replaceAll('.', '%2E')).join('.')
}
