import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { notWellFormed } from '../../base/validation.ts'
import type { Engine } from '../../engine/engine.ts'
import { errorInTypedText } from '../../sql/errors.ts'
import { definitionShape, type EndpointDefinition } from '../definition/definition.ts'
import { compileEndpoint, type KnownSources } from '../definition/endpoint.ts'

export const noteShape = z
  .string({ error: 'must be text' })
  .max(500, { error: 'must have at most 500 characters' })
  .refine((note) => note.isWellFormed(), { error: notWellFormed })

/** The catalog record of an endpoint. It contains the columns, so that a start need not ask the engine. */
export const storedEndpointShape = z.object({
  definition: definitionShape,
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  created_at: z.string(),
  /** Versions of earlier releases have none. */
  note: z.string().default(''),
})

export type StoredEndpoint = z.output<typeof storedEndpointShape>

export interface CompileOptions {
  engine: Engine
  sources: () => KnownSources
  clock: Clock
}

/** Checks a definition and returns its catalog record. Errors have their position in the SQL as it was typed. */
export async function compileStored(
  { engine, sources, clock }: CompileOptions,
  definition: EndpointDefinition,
  typed: string,
  { createdAt, note }: { createdAt?: string | undefined; note: string },
): Promise<StoredEndpoint> {
  const { columns } = await compileEndpoint(engine, definition, 1, sources()).catch((error) => {
    throw errorInTypedText(error, typed)
  })
  return {
    definition,
    columns: [...columns],
    created_at: createdAt ?? new Date(clock.now()).toISOString(),
    note,
  }
}

export function storedChange(body: StoredEndpoint, version: number) {
  return { kind: 'endpoint', id: body.definition.id, version, deleted: false, body } as const
}
