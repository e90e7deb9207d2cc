import { type ParameterType, parameterTypes } from '../../query/run/sql-parameters.ts'
import type { Question } from './question.ts'

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
  const pairs = pairsOf(text)
  if (pairs === undefined) return 'damaged'
  const types = pairs.flatMap(([name, type]) =>
    name.startsWith(typePrefix) && isType(type) ? [[name.slice(typePrefix.length), type]] : [],
  )
  return {
    query: pairs.find(([name]) => name === '_sql')?.[1] ?? '',
    values: Object.fromEntries(pairs.filter(([name]) => !name.startsWith('_'))),
    types: Object.fromEntries(types),
  }
}

/** Undefined if a percent sign does not begin a character. */
function pairsOf(text: string): [name: string, value: string][] | undefined {
  const decoded = (part: string) => decodeURIComponent(part.replaceAll('+', ' '))
  try {
    return text.split('&').map((pair) => {
      const at = pair.includes('=') ? pair.indexOf('=') : pair.length
      return [decoded(pair.slice(0, at)), decoded(pair.slice(at + 1))]
    })
  } catch {
    return undefined
  }
}

function isType(text: string): text is ParameterType {
  return (parameterTypes as readonly string[]).includes(text)
}
