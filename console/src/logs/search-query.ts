/** One condition of a search, as the service takes it. */
export interface SearchCondition {
  path: string
  is: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'exists' | 'contains'
  value: string
  /** Those are meant for which it does not hold. */
  not?: true
}

export interface ParsedSearch {
  text: string[]
  filters: SearchCondition[]
}

const token = /-?(?:"(?:[^"\\]|\\.)*"|[^\s":]+):(?:"(?:[^"\\]|\\.)*"|\S*)|-?"(?:[^"\\]|\\.)*"|\S+/g
const numeric = { '>=': 'gte', '<=': 'lte', '>': 'gt', '<': 'lt' } as const

/**
 * Reads what people type: words and "phrases" are looked for in the message; `path:value` compares metadata,
 * `path:>=400` compares numbers, `path:*` asks that there is something. A minus before any of them excludes.
 */
export function parseSearch(query: string): ParsedSearch {
  const text: string[] = []
  const filters: SearchCondition[] = []
  for (const [part] of query.matchAll(token)) {
    const filter = filterOf(part) ?? withoutOf(part)
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
  const turned = minus === '' ? {} : { not: true as const }
  if (raw === '*') return { path, is: 'exists', value: '', ...turned }
  const sign = /^(>=|<=|>|<)/.exec(raw)?.[1] as keyof typeof numeric | undefined
  if (sign) return { path, is: numeric[sign], value: raw.slice(sign.length), ...turned }
  return { path, is: minus === '' ? 'eq' : 'ne', value: unquoted(raw) }
}

/** A word that the message must not have. A dash that nothing follows, or another dash, is a text. */
function withoutOf(part: string): SearchCondition | undefined {
  const word = unquoted(/^-([^-].*)$/s.exec(part)?.[1] ?? '')
  return word === '' ? undefined : { path: 'event_message', is: 'contains', value: word, not: true }
}

function unquoted(text: string): string {
  return /^".*"$/s.test(text) && text.length > 1 ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text
}

function quoted(text: string): string {
  return /^[^\s":<>*\\-][^\s":\\]*$/.test(text) ? text : `"${text.replace(/(["\\])/g, '\\$1')}"`
}

/** The query with one more condition, or as it is where it has that already. */
export function withCondition(query: string, path: string, value: string, exclude = false): string {
  const condition = `${exclude ? '-' : ''}${quoted(path)}:${quoted(value)}`
  const parts = [...query.matchAll(token)].map(([part]) => part)
  return parts.includes(condition) ? query : [...parts, condition].join(' ')
}

/** A path of the service for keys of nested objects: dots inside of a key are no separators. */
export function pathOf(keys: readonly string[]): string {
  return keys.map((key) => key.replaceAll('.', '%2E')).join('.')
}
