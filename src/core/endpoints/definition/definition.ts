import { z } from 'zod'
import { endpointForm, parameterForm } from '../../../shared/names.ts'
import { reservedName, type SqlToken, sqlTokens } from '../../../shared/sql-tokens.ts'
import { invalidParameter } from '../../base/errors.ts'
import { trimEndOf } from '../../base/text/trim-end.ts'
import {
  findIllFormed,
  firstProblem,
  must,
  notWellFormed,
  problemSentence,
  text,
  trueOrFalse,
} from '../../base/validation.ts'
import { inferredTypes } from '../../sql/parameter-types.ts'
import { queryOf } from '../../sql/query.ts'
import { parameterShape } from './parameter-declaration.ts'

const parameterName = z
  .string()
  .regex(parameterForm, {
    error: 'must start with a letter and have at most 64 letters, digits and underscores',
  })
  .refine((name) => name !== reservedName, { error: 'is set by the service and cannot be declared' })

/**
 * Removes semicolons at the end, which would end the composed statement too early. Outside of quotes, line breaks become those
 * of Unix, so that a checkout on Windows is the same query.
 */
function bareQuery(query: string): string {
  const tokens = [...sqlTokens(query)]
  const isEnd = ({ kind, start }: SqlToken) => kind === 'space' || kind === 'comment' || query[start] === ';'
  const codeEnd = tokens.findLast((token) => !isEnd(token))?.end ?? 0
  const texts = tokens.map(({ kind, start, end }) => {
    const text = query.slice(start, end)
    // A line break replaces each one, so that nothing separate before can become one token.
    if (kind === 'symbol' && start >= codeEnd) return '\n'
    if (kind !== 'space' && kind !== 'comment') return text
    // A line comment ends before its line break.
    const isBeforeBreak = query[end] === '\n' || query[end] === ';'
    const kept = isBeforeBreak ? trimEndOf(text, '\r') : text
    return kept.replace(/\r+(\n?)/g, (run, newline) => newline || run)
  })
  return texts.join('').trim()
}

export const seconds = (max: number, min = 1) => {
  const range = must(`a whole number of seconds from ${min} to ${max}`)
  return z.int(range).min(min, range).max(max, range)
}
const day = 86_400
const optionalSeconds = seconds(30 * day)
  .nullable()
  .default(null)
const rows = must('a whole number from 1 to 10000')

export const chartTypes = ['lines', 'bars', 'stacked', 'number', 'table'] as const
const axes = must('a list of at most 20 columns')

/** How pages show the result. Columns are not compared with the SQL; null and an empty list: chosen from the columns. */
const chartShape = z.strictObject(
  {
    type: z.enum(chartTypes, must(`one of ${chartTypes.join(', ')}`)),
    x: text.nullable().default(null),
    y: z.array(text, axes).max(20, axes).default([]),
    series: text.nullable().default(null),
  },
  must('a list of fields, such as { type: lines }'),
)

export const parametersText = 'Parameters that callers can send, by name.'

const fields = z.strictObject({
  id: z
    .guid(must('a UUID'))
    .toLowerCase()
    .describe('Stays the same if the name changes. The service chooses one by default.'),
  name: text
    .regex(endpointForm, {
      error: 'must start with a letter and have at most 128 letters, digits, dots, underscores and dashes',
    })
    .describe('Unique. Callers can use it in place of the id.'),
  description: text.default('').describe('What the endpoint is for.'),
  query: text
    .transform(bareQuery)
    .refine((query) => query !== '', { error: 'is missing' })
    .describe(
      'One SELECT over sources. Parameters are written `@name`. It is saved without outer spaces and final semicolons, and with the line breaks of Unix.',
    ),
  parameters: z
    .record(parameterName, parameterShape, must('a list of parameters'))
    .default({})
    .describe(parametersText),
  max_rows: z
    .int(rows)
    .min(1, rows)
    .max(10_000, rows)
    .default(1000)
    .describe('Maximum number of rows. Longer results are truncated.'),
  cache_seconds: optionalSeconds.describe(
    'How long results are cached. Null, the default: not cached. To keep results warm, use 900, and 300 as warm_seconds.',
  ),
  warm_seconds: optionalSeconds.describe(
    'How often cached results are refreshed in the background. Null: never.',
  ),
  timeout_seconds: seconds(3600).default(30).describe('How long the query can run.'),
  json: z
    .array(text, must('a list of columns'))
    .max(100, must('at most 100 columns'))
    .default([])
    .describe('Columns whose text is JSON and is returned as JSON. `metadata` always is.'),
  sandbox: trueOrFalse
    .default(false)
    .describe('Whether callers can send their own SELECT over the views of the query.'),
  strict: trueOrFalse.default(false).describe('Whether requests with unknown parameters are refused.'),
  chart: chartShape
    .nullable()
    .default(null)
    .describe('How the console and embedded pages show the result. Null: chosen from the columns.'),
  timestamps: z
    .enum(['iso', 'logflare'], must('iso or logflare'))
    .default('iso')
    .describe(
      'How JSON and CSV show timestamps. `iso`: ISO 8601 text with `Z`. `logflare`: microseconds since 1970, and text without a time zone for whole seconds.',
    ),
  published: trueOrFalse
    .default(false)
    .describe('Whether tokens with a project can see and call the endpoint.'),
})

/** Whether an endpoint is about the service itself: it is for operators, and no workspace has it. */
export function isReserved(name: string): boolean {
  return name.startsWith('wellhead.')
}

const caching = z.object({ cache_seconds: optionalSeconds, warm_seconds: optionalSeconds })

/** Reports a problem between these two even if another field is invalid. */
const cachingIsReadable = ({ value }: { value: unknown }) => caching.safeParse(value).success

export const definitionShape = fields
  .refine(({ cache_seconds, warm_seconds }) => warm_seconds === null || cache_seconds !== null, {
    path: ['warm_seconds'],
    error: 'requires caching',
    when: cachingIsReadable,
  })
  .refine(({ cache_seconds, warm_seconds }) => (warm_seconds ?? 0) <= (cache_seconds ?? Infinity), {
    path: ['warm_seconds'],
    error: 'must not be longer than the cache',
    when: cachingIsReadable,
  })
  .superRefine(({ sandbox, parameters }, context) => {
    const problem = (message: string, ...path: string[]) =>
      context.addIssue({ code: 'custom', message, path })
    if (sandbox && Object.hasOwn(parameters, 'sql')) {
      problem('is reserved in a sandbox for the SQL of the caller', 'parameters', 'sql')
    }
  })

export type EndpointDefinition = z.output<typeof definitionShape>

/** Adds the types of numbers and booleans where the SQL tells them and nobody declares them: text would not compile. */
export function withInferredTypes<T>(fields: T): T {
  const { query, parameters = {} } = (fields ?? {}) as Record<string, unknown>
  if (typeof query !== 'string' || typeof parameters !== 'object' || parameters === null) return fields
  const typed: Record<string, unknown> = { ...parameters }
  for (const [name, type] of inferredTypes(queryOf(query))) {
    const declared = typed[name] ?? {}
    const isTold = type === 'integer' || type === 'number' || type === 'boolean'
    if (!isTold || typeof declared !== 'object' || !parameterName.safeParse(name).success) continue
    typed[name] = { type, ...declared }
  }
  return { ...fields, parameters: typed }
}

export function parseDefinition(fields: unknown): EndpointDefinition {
  const illFormed = findIllFormed(fields)?.join('.')
  if (illFormed !== undefined) throw invalidParameter(illFormed, `${illFormed} ${notWellFormed}.`)
  const parsed = definitionShape.safeParse(withInferredTypes(fields))
  if (parsed.success) return parsed.data
  const { field, message } = firstProblem(parsed.error, definitionShape)
  throw invalidParameter(field, problemSentence(field, message))
}
