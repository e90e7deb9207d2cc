import { z } from 'zod'
import { type SqlToken, sqlTokens } from '../../sql/tokens.ts'
import { parameterTypeNames, parameterTypes } from './parameter-types.ts'

/**
 * What an endpoint is, with its defaults and its rules. The files and the API both read into this shape; the
 * messages follow the name of the field, as in "max_rows must be …".
 */
function must(be: string) {
  return {
    error: (issue: { input?: unknown }) => (issue.input === undefined ? 'is missing' : `must be ${be}`),
  }
}

const trueOrFalse = z.boolean(must('true or false'))
const text = z.string(must('text'))

/** Values are strings, as callers send them; a number or a boolean is taken for its text. */
const valueText = z
  .union([z.string(), z.number(), z.boolean()], must('text, a number, or true or false'))
  .transform(String)

export const parameterShape = z
  .strictObject(
    {
      type: z.enum(parameterTypeNames, must(`one of ${parameterTypeNames.join(', ')}`)).default('string'),
      required: trueOrFalse.default(false),
      default: valueText.optional(),
      enum: z.array(valueText, must('a list of values')).min(1, must('a list of values')).optional(),
      empty_is_omitted: trueOrFalse.default(false),
      description: text.default(''),
      example: valueText.optional(),
    },
    must('a list of fields, such as { required: true }'),
  )
  .superRefine((parameter, context) => {
    const problem = (message: string, ...path: (string | number)[]) =>
      context.addIssue({ code: 'custom', message, path })
    const { read, expected } = parameterTypes[parameter.type]
    if (parameter.required && parameter.default !== undefined) {
      problem('cannot be given for a parameter that is required', 'default')
    }
    for (const [index, value] of (parameter.enum ?? []).entries()) {
      if (read(value) === undefined) problem(`must be ${expected}`, 'enum', index)
      if (parameter.enum?.indexOf(value) !== index) problem('is there twice', 'enum', index)
    }
    for (const field of ['default', 'example'] as const) {
      const value = parameter[field]
      if (value === undefined) continue
      if (read(value) === undefined) problem(`must be ${expected}`, field)
      else if (parameter.enum?.includes(value) === false) {
        problem(`must be one of ${parameter.enum.join(', ')}`, field)
      }
    }
  })

export type ParameterDeclaration = z.output<typeof parameterShape>

export const reservedName = 'now'

const parameterName = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, {
    error: 'must begin with a letter and have up to 64 letters, digits and underscores',
  })
  .refine((name) => name !== reservedName, { error: 'is given by the service and cannot be declared' })

/** Without semicolons at its end, which people write and which would end the statement too early. */
function bareQuery(query: string): string {
  const tokens = [...sqlTokens(query)]
  const isEnd = ({ kind, start }: SqlToken) => kind === 'space' || kind === 'comment' || query[start] === ';'
  const codeEnd = tokens.findLast((token) => !isEnd(token))?.end ?? 0
  // A line break in its place, since nothing that was apart before can grow together over one.
  const texts = tokens.map(({ kind, start, end }) =>
    start >= codeEnd && kind === 'symbol' ? '\n' : query.slice(start, end),
  )
  return texts.join('').trim()
}

const seconds = (max: number) => {
  const range = must(`a whole number of seconds from 1 to ${max}`)
  return z.int(range).min(1, range).max(max, range)
}
const day = 86_400
const rows = must('a whole number from 1 to 10000')

const span = z
  .strictObject(
    { window_seconds: seconds(366 * day), bucket_seconds: seconds(day) },
    must('a window and a bucket, such as { window_seconds: 3600, bucket_seconds: 60 }'),
  )
  .refine(({ bucket_seconds }) => day % bucket_seconds === 0, {
    path: ['bucket_seconds'],
    error: 'must divide a day',
  })

/**
 * A promise of the author: the rows of the result are in the order of a column that holds the beginning of a bucket
 * of time, and each of them comes from entries of its bucket alone. Then a result is renewed by its newest part.
 */
export const incrementalShape = z.strictObject(
  {
    column: text,
    /** Whether the window begins with a whole bucket, or somewhere in its first one. */
    whole_buckets: trueOrFalse.default(false),
    /** The parameter whose value tells how long window and bucket are. */
    by: text.nullable().default(null),
    spans: z.record(z.string(), span, must('a list of spans by value of the parameter')).default({}),
    /** For every other value, or where there is no such parameter. */
    otherwise: span.nullable().default(null),
  },
  must('a list of fields'),
)

export type Incremental = z.output<typeof incrementalShape>
export type Span = z.output<typeof span>

const fields = z.strictObject({
  id: z.guid(must('a UUID')).toLowerCase(),
  name: text.regex(/^[A-Za-z][A-Za-z0-9._-]{0,127}$/, {
    error: 'must begin with a letter and have up to 128 letters, digits, dots, underscores and dashes',
  }),
  description: text.default(''),
  query: text.transform(bareQuery).refine((query) => query !== '', { error: 'is missing' }),
  parameters: z.record(parameterName, parameterShape, must('a list of parameters')).default({}),
  max_rows: z.int(rows).min(1, rows).max(10_000, rows).default(1000),
  cache_seconds: seconds(30 * day)
    .nullable()
    .default(null),
  warm_seconds: seconds(30 * day)
    .nullable()
    .default(null),
  incremental: incrementalShape.nullable().default(null),
  timeout_seconds: seconds(3600).default(30),
  /** Columns of the result whose text is JSON; `metadata` is one without being listed. */
  json: z.array(text, must('a list of columns')).max(100, must('at most 100 columns')).default([]),
  sandbox: trueOrFalse.default(false),
})

const { cache_seconds, warm_seconds } = fields.shape
const caching = z.object({ cache_seconds, warm_seconds })

/** Otherwise a problem in another field would hide what is wrong between these two. */
const cachingIsReadable = ({ value }: { value: unknown }) => caching.safeParse(value).success

export const definitionShape = fields
  .refine(({ cache_seconds, warm_seconds }) => warm_seconds === null || cache_seconds !== null, {
    path: ['warm_seconds'],
    error: 'needs a cache that it keeps warm',
    when: cachingIsReadable,
  })
  .refine(({ cache_seconds, warm_seconds }) => (warm_seconds ?? 0) <= (cache_seconds ?? Infinity), {
    path: ['warm_seconds'],
    error: 'must not be longer than the cache',
    when: cachingIsReadable,
  })
  .refine(({ incremental, cache_seconds }) => incremental === null || cache_seconds !== null, {
    path: ['incremental'],
    error: 'needs a cache that it renews',
  })
  .refine(({ incremental, sandbox }) => incremental === null || !sandbox, {
    path: ['incremental'],
    error: 'cannot be promised for the SQL of callers',
  })
  .refine(({ incremental, parameters }) => !incremental?.by || Object.hasOwn(parameters, incremental.by), {
    path: ['incremental', 'by'],
    error: 'must be a declared parameter',
  })
  .refine(({ sandbox, parameters }) => !sandbox || !Object.hasOwn(parameters, 'sql'), {
    path: ['parameters', 'sql'],
    error: 'cannot be declared in a sandbox, where it is the SQL of the caller',
  })

export type EndpointDefinition = z.output<typeof definitionShape>

export interface FieldProblem {
  path: PropertyKey[]
  /** Follows the name of the field: "must be …", "is missing". */
  message: string
}

/** One problem for each field that has one. */
export function fieldProblems(error: z.ZodError): FieldProblem[] {
  return error.issues.flatMap((issue): FieldProblem[] => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        path: [...issue.path, key],
        message: 'is no field that is known here',
      }))
    }
    const message = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message
    return [{ path: issue.path, message }]
  })
}
