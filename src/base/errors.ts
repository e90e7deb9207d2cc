import { closestName, didYouMean } from './text/closest-name.ts'

/** All errors of the API: a stable code, a status and a message. docs/reference/errors.md lists the same codes; a test compares the two. */
export interface ErrorDetails {
  /** Name of the wrong parameter or field. */
  parameter?: string
  allowed?: readonly string[]
  /** Position in the caller's SQL. */
  line?: number
  column?: number
  /** Name of the wrong endpoint, if the request sent several. */
  endpoint?: string
  /** Changes that would break callers. */
  changes?: readonly BreakingChange[]
}

export interface BreakingChange {
  endpoint: string
  kind: string
  message: string
}

export class WellheadError extends Error {
  override readonly name = 'WellheadError'
  readonly code: string
  readonly status: number
  readonly details: ErrorDetails
  readonly retryAfterSeconds: number | undefined

  constructor(
    definition: { code: string; status: number },
    message: string,
    options: { details?: ErrorDetails; retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.code = definition.code
    this.status = definition.status
    this.details = options.details ?? {}
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

interface ErrorDefinition<A extends unknown[]> {
  (...args: A): WellheadError
  readonly code: string
  readonly status: number
  is(error: unknown): error is WellheadError
}

interface Described {
  message: string
  details?: ErrorDetails
  retryAfterSeconds?: number
  cause?: unknown
}

const catalogue = new Map<string, { code: string; status: number }>()

function define<A extends unknown[] = []>(
  code: string,
  status: number,
  describe: string | ((...args: A) => string | Described),
): ErrorDefinition<A> {
  const definition = { code, status }
  catalogue.set(code, definition)
  const make = (...args: A) => {
    const described = typeof describe === 'string' ? describe : describe(...args)
    if (typeof described === 'string') return new WellheadError(definition, described)
    const { message, ...options } = described
    return new WellheadError(definition, message, options)
  }
  return Object.assign(make, {
    code,
    status,
    is: (error: unknown): error is WellheadError => error instanceof WellheadError && error.code === code,
  })
}

export function listErrors(): { code: string; status: number }[] {
  return [...catalogue.values()]
}

// Errors that the caller can fix.
export const missingParameter = define(
  'missing_parameter',
  400,
  (parameter: string, allowed?: readonly string[]) => ({
    message: `Parameter "${parameter}" is required.${allowed ? ` Use one of ${allowed.join(', ')}.` : ''}`,
    details: allowed ? { parameter, allowed } : { parameter },
  }),
)
export const invalidParameter = define('invalid_parameter', 400, (parameter: string, message: string) => ({
  message,
  details: { parameter },
}))
export const unknownParameter = define(
  'invalid_parameter',
  400,
  /** Without a similar name, the message ends with `otherwise`. */
  (parameter: string, known: Iterable<string>, otherwise = '') => {
    const closest = closestName(parameter, known)
    const help = closest === undefined ? otherwise : didYouMean(closest)
    return { message: `Unknown parameter "${parameter}".${help}`, details: { parameter } }
  },
)
export const invalidBody = define('invalid_body', 400, (message: string) => message)
export const malformedRequest = define('malformed_request', 400, (message: string) => message)
export const unauthorized = define('unauthorized', 401, (mistyped: boolean = false) => ({
  message: 'A valid access token is required. Send it as X-API-KEY or Authorization: Bearer.',
  cause: mistyped ? 'The token is mistyped or incomplete.' : undefined,
}))
export const forbidden = define('forbidden', 403, (message: string) => message)
export const endpointNotFound = define(
  'endpoint_not_found',
  404,
  (reference: string, closest?: string) =>
    `No endpoint has the id or name "${reference}".${didYouMean(closest)}`,
)
export const sourceNotFound = define(
  'source_not_found',
  404,
  (name: string, closest?: string) => `No source has the name "${name}".${didYouMean(closest)}`,
)
export const notFound = define(
  'not_found',
  404,
  (method: string, path: string) => `Nothing is at ${method} ${path}. See /openapi.json for all paths.`,
)
export const tokenNotFound = define('not_found', 404, (id: string) => `No access token has the id "${id}".`)
export const notRecorded = define(
  'not_recorded',
  404,
  'Requests are not recorded. Start the service with WELLHEAD_STATISTICS=on to record them.',
)
export const alertNotFound = define(
  'not_found',
  404,
  (reference: string, closest?: string) =>
    `No alert has the id or name "${reference}".${didYouMean(closest)}`,
)
export const searchNotFound = define('not_found', 404, (id: string) => `No saved search has the id "${id}".`)
export const entryNotFound = define(
  'not_found',
  404,
  (source: string, id: string) => `The source ${source} has no entry with the id "${id}".`,
)
export const methodNotAllowed = define('method_not_allowed', 405, (method: string, allowed: string[]) => ({
  message: `This path does not support ${method}. Use one of ${allowed.join(', ')}.`,
  details: { allowed },
}))
export const notAcceptable = define('not_acceptable', 406, (allowed: string[]) => ({
  message: `The result is not available in this format. Use one of ${allowed.join(', ')}.`,
  details: { allowed },
}))
export const nameTaken = define(
  'name_taken',
  409,
  (name: string) => `The name "${name}" is already taken. Choose another.`,
)
export const backupUnavailable = define(
  'backup_unavailable',
  409,
  (message: string, retryAfterSeconds?: number) => ({
    message,
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  }),
)
export const deletedId = define(
  'name_taken',
  409,
  (id: string) => `The id ${id} belongs to a deleted endpoint and cannot be used again. Choose another.`,
)
export const breakingChange = define(
  'breaking_change',
  409,
  (changes: readonly BreakingChange[], remedy: string) => ({
    message: `${changes.length === 1 ? 'A change' : `${changes.length} changes`} would break callers, so ${remedy}`,
    details: { changes },
  }),
)
export const versionConflict = define(
  'version_conflict',
  412,
  (expected: string, current: number) =>
    `The current version is ${current}, not ${expected}. Read it again before you change it.`,
)
export const requestTooSlow = define(
  'request_timeout',
  408,
  'The request did not arrive in time. Send it again.',
)
export const headersTooLarge = define(
  'headers_too_large',
  431,
  'The URL and headers are larger than 16 KiB. Send shorter ones.',
)
export const tooLarge = define('too_large', 413, (message: string) => message)
export const unsupportedMediaType = define('unsupported_media_type', 415, (message: string) => message)
export const invalidQuery = define(
  'invalid_query',
  422,
  (message: string, at?: { line: number; column: number }) => ({ message, details: at ?? {} }),
)

// Errors that need time, or the operator.
export const rateLimited = define('rate_limited', 429, (message: string, retryAfterSeconds: number) => ({
  message,
  retryAfterSeconds,
}))
export const callerRefused = define('rate_limited', 429, (retryAfterSeconds: number) => ({
  message:
    'The engine stopped while your queries were running. ' +
    `Further queries are refused for ${retryAfterSeconds} s.`,
  retryAfterSeconds,
}))
export const diskFull = define('disk_full', 507, () => ({
  message: 'There is too little disk space left to store logs. Free some space. Endpoints still respond.',
  retryAfterSeconds: 30,
}))
export const internal = define('internal', 500, (cause?: unknown) => ({
  message: 'Internal error. The log has the cause under this request id.',
  cause,
}))
export const overloaded = define('overloaded', 503, (message: string, retryAfterSeconds?: number) => ({
  message,
  retryAfterSeconds: retryAfterSeconds ?? 1,
}))
export const outOfMemory = define('overloaded', 503, (cause?: unknown) => ({
  message: 'The engine has too little memory for the query at the moment. Try again, or select less.',
  retryAfterSeconds: 1,
  cause,
}))
export const engineUnavailable = define('engine_unavailable', 503, (message: string, cause?: unknown) => ({
  message,
  retryAfterSeconds: 1,
  cause,
}))
export const queryRefused = define('engine_unavailable', 503, (retryAfterSeconds: number) => ({
  message: `This query stopped the engine repeatedly, so it is refused for ${retryAfterSeconds} s.`,
  retryAfterSeconds,
}))
export const isolationUnverified = define('isolation_unverified', 503, (leak: string) => ({
  message:
    `This ClickHouse server does not keep tenants apart, so requests of tenants and SQL of callers are refused. ${leak} ` +
    'Upgrade ClickHouse, or remove settings from the profile of its user, then run wellhead doctor.',
  retryAfterSeconds: 60,
}))
export const queryTimeout = define(
  'query_timeout',
  504,
  (seconds: number) => `The query was stopped at its time limit of ${seconds} s. Make it read less data.`,
)
/** RFC 9111 defines this status for `only-if-cached`. */
export const notCached = define(
  'not_cached',
  504,
  'The result is not in the cache. Omit only-if-cached to have it computed.',
)
/** Only the log shows this error, since the client is gone. Proxies log the same status. */
export const queryCancelled = define(
  'query_cancelled',
  499,
  'The client disconnected, so the query was stopped.',
)
