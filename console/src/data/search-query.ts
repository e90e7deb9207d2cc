/** One condition of a search, as the service takes it. */
export interface SearchCondition {
  path: string
  is: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'exists'
  value: string
}

export interface ParsedSearch {
  text: string[]
  filters: SearchCondition[]
}

const token = /-?(?:"(?:[^"\\]|\\.)*"|[^\s":]+):(?:"(?:[^"\\]|\\.)*"|\S*)|"(?:[^"\\]|\\.)*"|\S+/g
const numeric = { '>=': 'gte', '<=': 'lte', '>': 'gt', '<': 'lt' } as const

/**
 * Reads what people type: words and "phrases" are looked for in the message; `path:value` compares metadata,
 * `-path:value` excludes, `path:>=400` compares numbers, `path:*` asks that there is something.
 */
export function parseSearch(query: string): ParsedSearch {
  const text: string[] = []
  const filters: SearchCondition[] = []
  for (const [part] of query.matchAll(token)) {
    const filter = filterOf(part)
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
  if (raw === '*' && minus === '') return { path, is: 'exists', value: '' }
  if (minus !== '') return { path, is: 'ne', value: unquoted(raw) }
  const sign = /^(>=|<=|>|<)/.exec(raw)?.[1] as keyof typeof numeric | undefined
  if (sign) return { path, is: numeric[sign], value: raw.slice(sign.length) }
  return { path, is: 'eq', value: unquoted(raw) }
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
