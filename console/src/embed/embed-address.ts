import { listText } from '../../../src/shared/list-text.ts'

export interface EmbedAddress {
  /** Name of the endpoint. */
  name: string
  /** Parameters of the request. */
  values: Record<string, string>
  /** Undefined: as the system. */
  theme: 'light' | 'dark' | undefined
  /** Undefined: a chart if the rows can be drawn. */
  view: 'chart' | 'table' | undefined
  hasTitle: boolean
}

/** What a frame shows. Of the parameters of every request, only the version can be chosen. */
export function embedAddress(path: string, search: string): EmbedAddress {
  const query = new URLSearchParams(search)
  const names = [...query.keys()].filter((key) => !key.startsWith('_') || key === '_version')
  const oneOf = <T extends string>(name: string, allowed: readonly T[]): T | undefined =>
    allowed.find((value) => value === query.get(name))
  return {
    name: decoded(path.split('/')[2] ?? ''),
    values: Object.fromEntries(names.map((name) => [name, listText(query.getAll(name))])),
    theme: oneOf('_theme', ['light', 'dark']),
    view: oneOf('_view', ['chart', 'table']),
    hasTitle: query.get('_title') !== '0',
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
