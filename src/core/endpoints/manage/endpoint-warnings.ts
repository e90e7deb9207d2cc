import { queryOf } from '../../sql/query.ts'
import { findWarnings } from '../../sql/warnings/find-warnings.ts'
import type { SampledSources } from '../../sql/warnings/path-warnings.ts'
import type { Warning } from '../../sql/warnings/warning.ts'
import type { EndpointDefinition } from '../definition/definition.ts'
import type { KnownSources } from '../definition/endpoint.ts'
import { possibleEndpoints } from '../definition/inner-endpoints.ts'

export type WarningsOf = (
  definition: EndpointDefinition,
  typed: string,
  /** Those of the state after a change. By default, those of now. */
  sources?: KnownSources,
) => Promise<Warning[]>

export function endpointWarnings(
  sources: () => KnownSources,
  sampled?: SampledSources,
  onFailure: (error: unknown) => void = (error) => {
    throw error
  },
): WarningsOf {
  return async ({ parameters, sandbox }, typed, { typedColumns, endpoints } = sources()) => {
    const columnsOf = typedColumns ?? (() => undefined)
    const inner = endpoints ? possibleEndpoints(typed).flatMap((name) => endpoints.named(name) ?? []) : []
    const handedOn = new Set(
      inner.flatMap((each) => [...Object.keys(each.parameters), ...queryOf(each.query).parameterNames]),
    )
    const warned = { sql: typed, declared: Object.keys(parameters), handedOn, sandbox, columnsOf }
    const found = findWarnings(warned, sampled)
    // Warnings never keep anybody from saving.
    return found.catch((error) => {
      onFailure(error)
      return []
    })
  }
}
