import { noQuestion, type ParameterType, parameterTypes, type Question } from './question.ts'

/** Browsers allow more, but mail and chat programs cut longer links. */
export const maxLinkLength = 30_000

const typePrefix = '_type.'

/** The part of a link behind the `#`, which browsers do not send to the service. Undefined if it is too long. */
export function fragmentOf({ query, values, types }: Question): string | undefined {
  if (query.length > maxLinkLength) return undefined
  if (query === '') return ''
  const pairs = [
    ['_sql', query],
    ...Object.entries(values),
    ...Object.entries(types).map(([name, type]) => [typePrefix + name, type]),
  ]
  const text = `#${new URLSearchParams(pairs)}`
  return text.length > maxLinkLength ? undefined : text
}

/** Undefined if the fragment holds no query. */
export function questionOf(fragment: string): Question | 'damaged' | undefined {
  const text = fragment.replace(/^#/, '')
  if (!/(?:^|&)_sql=/.test(text)) return undefined
  try {
    decodeURIComponent(text)
  } catch {
    return 'damaged'
  }
  const { _sql: query = '', ...others } = Object.fromEntries(new URLSearchParams(text))
  const pairs = Object.entries(others)
  const types = pairs.flatMap(([name, type]) =>
    name.startsWith(typePrefix) && isType(type) ? [[name.slice(typePrefix.length), type]] : [],
  )
  return {
    ...noQuestion,
    query,
    values: Object.fromEntries(pairs.filter(([name]) => !name.startsWith('_'))),
    types: Object.fromEntries(types),
  }
}

function isType(text: string): text is ParameterType {
  return (parameterTypes as readonly string[]).includes(text)
}
