import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { endpointNotFound } from '../base/errors.ts'
import type { Engine } from '../engine/engine.ts'
import type { EndpointDefinition } from './definition.ts'
import { describeProblem, readDefinition } from './definition-file.ts'
import { compileEndpoint, type Endpoint } from './endpoint.ts'

/** The endpoints that can be called, by name and by id. */
export class Endpoints {
  readonly #byName = new Map<string, Endpoint>()
  readonly #byId = new Map<string, Endpoint>()

  async open(
    engine: Engine,
    definitions: readonly EndpointDefinition[],
    sources: ReadonlySet<string>,
  ): Promise<void> {
    const compiled = await Promise.all(
      definitions.map((definition) => compileEndpoint(engine, definition, 1, sources)),
    )
    for (const endpoint of compiled) {
      this.#byName.set(endpoint.definition.name, endpoint)
      this.#byId.set(endpoint.definition.id, endpoint)
    }
  }

  /** A name is looked for first: one that has the form of a UUID is still a name. */
  get(reference: string): Endpoint {
    const endpoint = this.#byName.get(reference) ?? this.#byId.get(reference.toLowerCase())
    if (!endpoint) throw endpointNotFound(reference)
    return endpoint
  }
}

/** The definitions in a directory. Every problem of every file is told at once. */
export function readDefinitions(directory: string): EndpointDefinition[] {
  const readings = readdirSync(directory)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => readDefinition(file, readFileSync(join(directory, file), 'utf8')))
  const problems = readings.flatMap((reading) => ('problems' in reading ? reading.problems : []))
  if (problems.length > 0) throw new Error(problems.map(describeProblem).join('\n'))
  return readings.flatMap((reading) => ('definition' in reading ? [reading.definition] : []))
}
