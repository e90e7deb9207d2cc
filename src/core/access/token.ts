import { z } from 'zod'
import { listText } from '../../shared/list-text.ts'
import { parameterForm } from '../../shared/names.ts'
import { scopeList, scopePattern, scopesText } from '../../shared/scopes.ts'
import { isoInstant } from '../base/validation.ts'
import { hasRole } from './caller.ts'

const day = 86_400

const fixedValue = z.string().max(256, 'must be at most 256 characters long')
const fixedValues = z
  .union([fixedValue, z.array(fixedValue)])
  .transform((value) => (typeof value === 'string' ? value : listText(value)))
  .pipe(fixedValue)
const project = fixedValue
  .min(1, 'must not be empty')
  .regex(/^[^\x00-\x1f\x7f]*$/, 'must not contain control characters')

export const tokenFields = {
  description: z
    .string()
    .max(1000, 'must be at most 1000 characters long')
    .describe('What the token is for.'),
  scopes: z
    .array(z.string().regex(scopePattern, `must be ${scopeList}`))
    .min(1, 'must name at least one scope')
    .max(100, 'must be at most 100 scopes')
    .describe(scopesText),
  project: project
    .nullable()
    .describe('Limits the token to the rows and entries of this project. Null: no limit.'),
  parameters: z
    .record(z.string().regex(parameterForm, 'must be the name of a parameter'), fixedValues)
    .refine((parameters) => !Object.hasOwn(parameters, 'project'), {
      error: 'must not contain project; set the field project instead',
    })
    .describe('Values of parameters that callers with this token cannot choose.'),
  expires_at: isoInstant.nullable().describe('When the token expires. Null: never.'),
  requests_per_minute: z
    .int()
    .min(1)
    .max(1_000_000)
    .nullable()
    .describe('Maximum number of requests per minute. Null: no limit.'),
}

const roleIsWhole = {
  path: ['scopes'],
  error: 'cannot contain admin, deploy, edit or read together with a project or fixed parameters',
}

function isWhole(token: { scopes: string[]; project: string | null; parameters: object }): boolean {
  return !hasRole(token.scopes) || (token.project === null && Object.keys(token.parameters).length === 0)
}

export const tokenShape = z
  .strictObject({
    ...tokenFields,
    description: tokenFields.description.default(''),
    project: tokenFields.project.default(null),
    parameters: tokenFields.parameters.default({}),
    expires_at: tokenFields.expires_at.default(null),
    requests_per_minute: tokenFields.requests_per_minute.default(null),
  })
  .refine(isWhole, roleIsWhole)

export type TokenFields = z.output<typeof tokenShape>

export const tokenChangeShape = z.strictObject(tokenFields).partial()

export const rotationShape = z.strictObject({
  overlap_seconds: z
    .int()
    .min(0)
    .max(30 * day)
    .describe('How long the old secret keeps working.')
    .default(day),
})

export const maxSessionMinutes = 720

/** A session of a token. Omitted fields are those of the token. */
export const sessionShape = z.strictObject({
  minutes: z.int().min(1).max(maxSessionMinutes).default(15).describe('How long the session lasts.'),
  scopes: tokenFields.scopes.optional().describe('At most those of the token, which are the default.'),
  project: tokenFields.project
    .optional()
    .describe("Limits the session to this project. Null: the token's project."),
  parameters: tokenFields.parameters
    .optional()
    .describe('Further values of parameters that callers with this session cannot choose.'),
  requests_per_minute: tokenFields.requests_per_minute
    .optional()
    .describe('Maximum number of requests per minute, at most that of the token, which is the default.'),
})

export type SessionFields = z.output<typeof sessionShape>

/** A token in the catalog: with the hash of its secret. */
export const storedTokenShape = z.object({
  ...tokenFields,
  hash: z.string(),
  created_at: z.string(),
  /** Id of the token that created it; null for a token of the settings. */
  created_by: z.string().nullable(),
  previous: z.object({ hash: z.string(), valid_until: z.string() }).nullable(),
})

export type StoredToken = z.output<typeof storedTokenShape>
