import { hash } from 'node:crypto'

export interface CacheKeyParts {
  endpointId: string
  /** The same for versions of the endpoint that return the same results. */
  tag: string
  /** The project of a tenant's token; null for a token without one. */
  tenant: string | null
  /** As bound, with defaults and fixed values, without the time of the request. */
  parameters: Readonly<Record<string, string | number | boolean | bigint | null>>
  format: string
}

/** The SHA-256 of everything that a result depends on; values that are not text carry their type, so that null and 'null' differ. */
export function cacheKey({ endpointId, tag, tenant, parameters, format }: CacheKeyParts): string {
  const values: unknown[] = []
  for (const name of Object.keys(parameters).sort()) {
    const value = parameters[name]
    values.push(name, typeof value === 'string' ? value : [typeof value, String(value)])
  }
  return hash('sha256', JSON.stringify([endpointId, tag, tenant, values, format]), 'hex')
}
