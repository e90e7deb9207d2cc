import { closestName, didYouMean } from './text/closest-name.ts'
import { withArticle } from './text/with-article.ts'

/** All errors of the API: a stable code, a status and a message. docs/reference/errors.md lists the same codes; a test compares the two. */
export interface ErrorDetails {
  parameter?: string
  allowed?: readonly string[]
  line?: number
  column?: number
  /** Kind and name of the wrong definition, if the request sent several: `endpoints/usage`. */
  definition?: string
  /** Its name, if it is an endpoint. */
  endpoint?: string
  /** Kinds and names of the definitions that use it. */
  users?: readonly string[]
  changes?: readonly BreakingChange[]
}

/** As responses have it. */
export interface ErrorBody extends ErrorDetails {
  code: string
  message: string
  request_id?: string
}

export interface BreakingChange {
  definition: string
  endpoint?: string
  kind: string
  message: string
  /** Stored entries that the change hides and that are deleted later. */
  entries?: number
  /** Timestamp of the oldest of them. */
  oldest?: string | null
}

interface Described {
  message: string
  details?: ErrorDetails
  retryAfterSeconds?: number | undefined
  cause?: unknown
}

export class WellheadError extends Error {
  override readonly name = 'WellheadError'
  readonly code: string
  readonly status: number
  readonly details: ErrorDetails
  readonly retryAfterSeconds: number | undefined

  constructor(
    { code, status }: { code: string; status: number },
    message: string,
    { details = {}, retryAfterSeconds, cause }: Omit<Described, 'message'> = {},
  ) {
    super(message, { cause })
    this.code = code
    this.status = status
    this.details = details
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Makes errors of one code. A feature declares its own with `defineError`. */
export function defineError<A extends unknown[] = []>(
  code: string,
  status: number,
  describe: string | ((...args: A) => string | Described),
) {
  const make = (...args: A) => {
    const described = typeof describe === 'string' ? describe : describe(...args)
    const { message, ...options } = typeof described === 'string' ? { message: described } : described
    return new WellheadError({ code, status }, message, options)
  }
  const is = (error: unknown): error is WellheadError => error instanceof WellheadError && error.code === code
  return Object.assign(make, { code, status, is })
}

/** A code of the API. */
export interface ErrorCode {
  readonly code: string
  readonly status: number
  /** When a feature responds with this status, for the OpenAPI document: "another copy is running". */
  readonly cause?: string
}

/** A code that a feature adds. */
export interface FeatureError extends ErrorCode {
  /** The code before it in lists. */
  readonly after: string
}

const catalogue = new Map<string, ErrorCode>()

/** The codes of core and of features. */
export function listErrors(ofFeatures: readonly FeatureError[]): ErrorCode[] {
  return [...catalogue.values()].flatMap((error) => [
    error,
    ...ofFeatures.filter(({ after }) => after === error.code),
  ])
}

function define<A extends unknown[] = []>(
  code: string,
  status: number,
  describe: string | ((...args: A) => string | Described),
) {
  catalogue.set(code, { code, status })
  return defineError(code, status, describe)
}

// Errors that the caller can fix.
export const missingParameter = define(
  'missing_parameter',
  400,
  (parameter: string, allowed?: readonly string[], all: readonly string[] = [parameter]) => {
    const hint = allowed ? ` Use one of ${allowed.join(', ')}.` : ''
    const names = all.map((name) => `"${name}"`).join(', ')
    return {
      message:
        all.length > 1 ? `Parameters ${names} are required.` : `Parameter ${names} is required.${hint}`,
      details: allowed ? { parameter, allowed } : { parameter },
    }
  },
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
export const crossSite = define(
  'cross_site',
  403,
  'Requests with a cookie must come from a page of this service. Send a token instead, or set WELLHEAD_PUBLIC_URL to the origin of the service.',
)
export const signInFailed = define('sign_in_failed', 400, (reason: string) => `${reason} Sign in again.`)
export const signInRefused = define('sign_in_refused', 403, (reason: string) => reason)
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
export const notRecorded = define(
  'not_recorded',
  404,
  'Requests are not recorded. Start the service with WELLHEAD_STATISTICS=on to record them.',
)
/** For resources without a code of their own: 'No alert has the id or name "x"' and the like. */
export const resourceNotFound = define('not_found', 404, (sentence: string, closest?: string) => {
  return `${sentence}.${didYouMean(closest)}`
})
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
  /** The owner is what has the name, such as "source", if it is of another kind. */
  (name: string, owner?: string) => {
    const by = owner === undefined ? '' : ` by ${withArticle(owner)}`
    return `The name "${name}" is already taken${by}. Choose another.`
  },
)
export const deletedId = define(
  'name_taken',
  409,
  (id: string) =>
    `The id ${id} belongs to something that was deleted and cannot be used again. Choose another.`,
)
export const inUse = define('in_use', 409, (name: string, users: readonly string[]) => ({
  message: `${name} is used by ${users.slice(0, 5).join(', ')}${users.length > 5 ? ' and others' : ''}. Change or delete what uses it first, or in the same deployment.`,
  details: { users },
}))
export const breakingChange = define(
  'breaking_change',
  409,
  (changes: readonly BreakingChange[], remedy: string) => {
    const subject = changes.length === 1 ? 'A change' : `${changes.length} changes`
    const hidden = changes.reduce((sum, { entries = 0 }) => sum + entries, 0)
    const hides = hidden === 0 ? 'affect projects' : `hide ${hidden === 1 ? '1 entry' : `${hidden} entries`}`
    const effect = changes.every(({ entries }) => entries !== undefined) ? hides : 'break callers'
    return { message: `${subject} would ${effect}, so ${remedy}`, details: { changes } }
  },
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
  'The URL and headers are larger than 16 KiB. Send parameters as JSON in the body of a POST request, or fewer headers.',
)
export const tooLarge = define('too_large', 413, (message: string) => message)
export const unsupportedMediaType = define('unsupported_media_type', 415, (message: string) => message)
export const idempotencyMismatch = define(
  'idempotency_mismatch',
  422,
  'This Idempotency-Key was used with another body. Send new entries with a new key.',
)
export const invalidQuery = define(
  'invalid_query',
  422,
  (message: string, at?: { line: number; column: number }) => ({ message, details: at ?? {} }),
)

// Errors that need time, or the operator.
export function waiting(message: string, retryAfterSeconds?: number): Described {
  return { message, retryAfterSeconds }
}
export const rateLimited = define('rate_limited', 429, waiting)
export const quotaExceeded = define('quota_exceeded', 429, (seconds: number) =>
  waiting('The plan of the project allows no more entries today (UTC). Nothing was stored.', seconds),
)
export const callerRefused = define('rate_limited', 429, (seconds: number) =>
  waiting(
    `The engine stopped while your queries were running. Further queries are refused for ${seconds} s.`,
    seconds,
  ),
)
export const diskFull = define('disk_full', 507, (lacking: 'space' | 'inodes' = 'space') => {
  const [problem, advice] = {
    space: ['There is too little disk space left to store logs.', 'Free some space.'],
    inodes: ['There are too few inodes left on the disk to store logs.', 'Delete files that are not needed.'],
  }[lacking]
  return waiting(`${problem} ${advice} Endpoints still respond.`, 30)
})
export const internal = define('internal', 500, (cause?: unknown) => ({
  message: 'Internal error. The log has the cause under this request id.',
  cause,
}))
export const overloaded = define('overloaded', 503, (message: string, seconds: number = 1) =>
  waiting(message, seconds),
)
export const outOfMemory = define('overloaded', 503, (cause?: unknown) => ({
  message: 'The engine has too little memory for the query at the moment. Try again, or select less.',
  retryAfterSeconds: 1,
  cause,
}))
export const signInUnavailable = define('sign_in_unavailable', 503, () => ({
  message: 'The service that signs people in does not respond. Try again, or sign in with a token.',
  retryAfterSeconds: 5,
}))
export const engineUnavailable = define('engine_unavailable', 503, (message: string, cause?: unknown) => ({
  message,
  retryAfterSeconds: 1,
  cause,
}))
export const queryRefused = define('engine_unavailable', 503, (seconds: number) =>
  waiting(`This query stopped the engine, so it is refused for ${seconds} s.`, seconds),
)
export const isolationUnverified = define('isolation_unverified', 503, (leak: string) =>
  waiting(
    `This ClickHouse server does not keep tenants apart, so requests of tenants and SQL of callers are refused. ${leak} ` +
      'Upgrade ClickHouse, or remove settings from the profile of its user, then run wellhead doctor.',
    60,
  ),
)
export const queryTimeout = define(
  'query_timeout',
  504,
  (seconds: number) =>
    `The query was stopped at its time limit of ${Number(seconds.toFixed(1))} s. Make it read less data.`,
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
  (message: string = 'The client disconnected, so the query was stopped.') => message,
)
