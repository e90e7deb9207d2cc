import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { RequestAuthor } from '../../base/author.ts'
import { invalidParameter } from '../../base/errors.ts'

export const ifMatch = z.object({
  'If-Match': z.string().optional().describe('Version that the change is based on, in quotes: `"3"`.'),
})

export const versionParam = {
  version: z
    .string()
    .regex(/^[1-9]\d{0,8}$/, 'must be a positive whole number')
    .transform(Number)
    .meta({ description: 'The version.', type: 'integer', pattern: undefined, minimum: 1, example: 1 }),
}

export function changedBy(request: FastifyRequest): string {
  return request.caller?.id ?? ''
}

/** Who changes something, for its versions and the audit. */
export function authorOf(request: FastifyRequest): RequestAuthor {
  const isAdmin = request.caller?.isAdmin ?? false
  return { id: changedBy(request), address: request.ip, requestId: request.id, isAdmin }
}

/** Version that the caller expects to be the newest. Undefined: any version. */
export function expectedVersion(request: FastifyRequest): number | undefined {
  const header = request.headers['if-match']?.trim()
  if (header === undefined || header === '*') return undefined
  const version = /^(?:W\/)?"(\d{1,9})"$/.exec(header)?.[1]
  if (version === undefined) {
    throw invalidParameter('If-Match', 'If-Match must be one version in quotes, such as "3".')
  }
  return Number(version)
}

/** A query parameter that is false by default. */
export function flag(description: string) {
  return z
    .stringbool({ truthy: ['true'], falsy: ['false'], case: 'sensitive', error: 'must be true or false' })
    .default(false)
    .meta({ description, type: 'boolean', default: false })
}
