import type { Engine } from '../engine/engine.ts'
import type { EndpointDefinition, ParameterDeclaration } from './definition.ts'
import { bindQuery, type CompiledQuery, withNow } from './parameters.ts'
import { describeColumns, type ResultColumn } from './result-columns.ts'
import { checkSql, checkTokens } from './sql-check.ts'

/** An endpoint that was checked: its query compiles, reads only what it may, and has these columns. */
export interface Endpoint {
  readonly definition: EndpointDefinition
  readonly version: number
  readonly compiled: CompiledQuery
  readonly columns: readonly ResultColumn[]
}

const samples: Record<ParameterDeclaration['type'], string> = {
  string: '',
  regex: '',
  integer: '0',
  number: '0',
  boolean: 'true',
  timestamp: '2026-01-01T00:00:00Z',
}

/** Any value that fits, for looking at a query without a caller. */
function sampleOf({ example, enum: allowed, type }: ParameterDeclaration): string {
  return example ?? allowed?.[0] ?? samples[type]
}

/** Checks a definition as it is saved, and learns its columns. Throws what is wrong with its query. */
export async function compileEndpoint(
  engine: Engine,
  definition: EndpointDefinition,
  version: number,
  sources: ReadonlySet<string>,
): Promise<Endpoint> {
  checkTokens(definition.query)
  const compiled = bindQuery(definition.query, definition.parameters)
  const given = Object.fromEntries(
    Object.entries(definition.parameters).map(([name, declaration]) => [name, sampleOf(declaration)]),
  )
  const statement = { sql: compiled.sql, parameters: withNow(compiled.check(given), 0n) }
  await checkSql(engine, statement, sources)
  return { definition, version, compiled, columns: await describeColumns(engine, statement) }
}
