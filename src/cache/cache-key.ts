import { hash } from 'node:crypto'

export interface CacheKeyParts {
  endpointId: string
  version: number
  /** The project that a token is bound to; null for one that sees all. */
  tenant: string | null
  /** Declared parameters as bound, after defaults and fixed values, without the time of the call. */
  parameters: Readonly<Record<string, string | number | boolean | bigint | null>>
  /** Name of the output format. */
  format: string
}

/**
 * The SHA-256 of everything that a result depends on, in an encoding in which no two different calls look
 * alike: JSON keeps the ends of texts apart, and a value that is no text goes with its type, so that null,
 * 'null' and NaN stay three things.
 */
export function cacheKey({ endpointId, version, tenant, parameters, format }: CacheKeyParts): string {
  const values: unknown[] = []
  for (const name of Object.keys(parameters).sort()) {
    const value = parameters[name]
    values.push(name, typeof value === 'string' ? value : [typeof value, String(value)])
  }
  return hash('sha256', JSON.stringify([endpointId, version, tenant, values, format]), 'hex')
}
