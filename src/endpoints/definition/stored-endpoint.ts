import type { Clock } from '../../base/clock.ts'
import type { Engine } from '../../engine/engine.ts'
import type { StoredEndpoint } from '../manage/endpoints.ts'
import type { EndpointDefinition } from './definition.ts'
import { compileEndpoint, type KnownSources } from './endpoint.ts'
import { inTypedText } from './typed-text.ts'

export interface CompilingParts {
  engine: Engine
  sources: () => KnownSources
  clock: Clock
}

/** Checks a definition, and makes what the catalog keeps of it. Errors have their place in the SQL as it was typed. */
export async function compileStored(
  { engine, sources, clock }: CompilingParts,
  definition: EndpointDefinition,
  typed: string,
  createdAt?: string,
): Promise<StoredEndpoint> {
  const { columns } = await compileEndpoint(engine, definition, 1, sources()).catch((error) => {
    throw inTypedText(error, typed)
  })
  return {
    definition,
    columns: [...columns],
    created_at: createdAt ?? new Date(clock.now()).toISOString(),
  }
}

export function storedChange(body: StoredEndpoint, version: number) {
  return { kind: 'endpoint', id: body.definition.id, version, deleted: false, body } as const
}
