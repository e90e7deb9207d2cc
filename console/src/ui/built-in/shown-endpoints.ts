import type { CallableEndpoint, Whoami } from '../../api/shapes.ts'
import { builtInEndpoints } from './built-in.ts'

/** The endpoints of a customer, without built-in ones that have no data of its project. */
export function shownEndpoints({ project, endpoints, empty_sources }: Whoami): CallableEndpoint[] {
  const empty = new Set(project === null ? [] : empty_sources)
  return endpoints.filter(({ id }) => !empty.has(builtInEndpoints.get(id) ?? ''))
}
