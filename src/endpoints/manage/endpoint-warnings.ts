import { findWarnings } from '../../sql/warnings/find-warnings.ts'
import type { SampledSources } from '../../sql/warnings/path-warnings.ts'
import type { Warning } from '../../sql/warnings/warning.ts'
import type { EndpointDefinition } from '../definition/definition.ts'
import type { KnownSources } from '../definition/endpoint.ts'

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
  return async ({ parameters, sandbox }, typed, { typedColumns } = sources()) => {
    const columnsOf = typedColumns ?? (() => undefined)
    const found = findWarnings({ sql: typed, declared: Object.keys(parameters), sandbox, columnsOf }, sampled)
    // Warnings never keep anybody from saving.
    return found.catch((error) => {
      onFailure(error)
      return []
    })
  }
}
