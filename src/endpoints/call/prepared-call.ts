import { z } from 'zod'
import { unknownParameter } from '../../base/errors.ts'
import { cacheKey } from '../../cache/cache-key.ts'
import type { Endpoint } from '../definition/endpoint.ts'
import type { BoundValues } from '../definition/parameters.ts'
import { resultTag } from '../definition/result-tag.ts'
import type { OutputFormat } from './output-formats.ts'

export interface CallParameters {
  endpoint: Endpoint
  /** As sent, unchecked. */
  parameters: Readonly<Record<string, string>>
  format: OutputFormat
  project: string | undefined
}

/** Everything that the result of a call depends on, checked and bound once. */
export interface PreparedCall {
  readonly endpoint: Endpoint
  readonly values: BoundValues
  /** The caller's SQL, if the endpoint is a sandbox. */
  readonly sql: string | undefined
  readonly format: OutputFormat
  readonly project: string | undefined
  readonly key: string
}

/** Throws if a parameter is missing or invalid. */
export function prepareCall({ endpoint, parameters, format, project }: CallParameters): PreparedCall {
  const { definition, compiled } = endpoint
  const values = compiled.check(parameters)
  const sql = definition.sandbox && Object.hasOwn(parameters, 'sql') ? parameters.sql : undefined
  const key = cacheKey({
    endpointId: definition.id,
    tag: resultTag(endpoint),
    tenant: project ?? null,
    parameters: sql === undefined ? values : { ...values, sql },
    format: format.id,
  })
  return Object.freeze({ endpoint, values, sql, format, project, key })
}

/** Enough to repeat a call after a restart. */
export const recipeShape = z.object({
  endpoint: z.string(),
  version: z.int(),
  /** Absent from files of earlier releases. */
  tag: z.string().optional(),
  parameters: z.record(z.string(), z.string()),
  project: z.string().optional(),
  format: z.string(),
})

export function recipeOf({ endpoint, parameters, format, project }: CallParameters) {
  const { definition, version } = endpoint
  // Parameters that the endpoint does not know must not take up memory of the cache.
  const names = parameterNames(endpoint)
  return {
    endpoint: definition.id,
    version,
    tag: resultTag(endpoint),
    parameters: Object.fromEntries(Object.entries(parameters).filter(([name]) => names.has(name))),
    ...(project !== undefined && { project }),
    format: format.id,
  } satisfies z.output<typeof recipeShape>
}

/** Whether the endpoint would still return the result of a recipe. */
export function isCurrent({ tag, version }: z.output<typeof recipeShape>, endpoint: Endpoint): boolean {
  return tag === undefined ? version === endpoint.version : tag === resultTag(endpoint)
}

/** As a request is refused that sends a parameter which a strict endpoint does not know. */
export function refuseUnknown(endpoint: Endpoint, parameters: object, ...added: string[]): void {
  const known = new Set([...parameterNames(endpoint), ...added])
  const unknown = Object.keys(parameters).find((name) => !known.has(name))
  if (unknown === undefined) return
  throw unknownParameter(unknown, known, ` ${endpoint.definition.name} does not have it.`)
}

/** Parameters that an endpoint declares, or that its SQL uses. */
export function parameterNames({ definition, compiled }: Endpoint): Set<string> {
  const names = new Set([...Object.keys(definition.parameters), ...compiled.names])
  return definition.sandbox ? names.add('sql') : names
}
