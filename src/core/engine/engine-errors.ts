import {
  diskFull,
  engineUnavailable,
  internal,
  invalidQuery,
  outOfMemory,
  overloaded,
  queryCancelled,
  queryTimeout,
  tooLarge,
  WellheadError,
} from '../base/errors.ts'
import { trimEndOf } from '../base/text/trim-end.ts'
import { BrokenResponse, ClickHouseError } from './clickhouse-http.ts'
import { rowTooLarge } from './json-rows.ts'

interface RequestOutcome {
  deadlineMs: number
  ended: 'by-deadline' | 'by-caller' | 'by-engine'
}

const shardAway = 'A node of the cluster cannot be reached.'
const needsTooMuch = 'The query needs more memory than its limit. Select less.'
const resultTooLarge = 'The result is larger than the engine allows. Select less.'
const readsTooMuch = 'The query reads more than the engine allows. Select less.'

/** Codes of ClickHouse that are not mistakes in SQL. */
const translations: Record<number, (error: ClickHouseError, outcome: RequestOutcome) => WellheadError> = {
  159: (_error, outcome) => queryTimeout(outcome.deadlineMs / 1000),
  394: (error) => engineUnavailable('The engine stopped the query.', error),
  // Its own limit stops a query again; the memory of all queries may be free in a moment.
  241: (error) =>
    /query memory limit exceeded|\(for query\)/i.test(error.message)
      ? withCause(tooLarge(needsTooMuch), error)
      : outOfMemory(error),
  // The engine's messages of these three reveal how many rows or bytes it read.
  158: () => tooLarge(readsTooMuch),
  160: () => tooLarge(readsTooMuch),
  307: () => tooLarge(readsTooMuch),
  395: (error) => (error.message.startsWith(rowTooLarge) ? tooLarge(resultTooLarge) : sqlError(error)),
  396: () => tooLarge(resultTooLarge),
  202: (error) => withCause(overloaded('The engine has too many queries waiting.'), error),
  203: (error) => withCause(overloaded('The engine has too many connections.'), error),
  193: (error) => engineUnavailable('ClickHouse refused the user or the password.', error),
  516: (error) => engineUnavailable('ClickHouse refused the user or the password.', error),
  242: (error) => engineUnavailable('The engine is read-only at the moment.', error),
  243: () => diskFull(),
  252: () => overloaded('The engine has too many parts to merge.'),
  285: (error) => engineUnavailable('Too few replicas are available at the moment.', error),
  286: (error) => engineUnavailable('Another insert waits for its replicas.', error),
  319: (error) => engineUnavailable('The replicas did not confirm the insert.', error),
  289: (error) => engineUnavailable('A replica lacks the newest entries at the moment.', error),
  369: (error) => engineUnavailable('All replicas lack the newest entries at the moment.', error),
  225: (error) => engineUnavailable('The cluster has no connection to its keeper.', error),
  999: (error) => engineUnavailable('The cluster does not accept writes at the moment.', error),
  198: (error) => engineUnavailable(shardAway, error),
  209: (error) => engineUnavailable(shardAway, error),
  210: (error) => engineUnavailable(shardAway, error),
  279: (error) => engineUnavailable(shardAway, error),
  236: (error) => engineUnavailable('The engine stopped the query.', error),
  1001: (error) => internal(error),
  1002: (error) => internal(error),
}

/** ClickHouse uses one code for a text that ends early and for a node that dies during a query. */
const endOfData = 32
const lostNode = /while receiving packet from /

export function toWellheadError(error: unknown, outcome: RequestOutcome): WellheadError {
  if (error instanceof WellheadError) return error
  if (outcome.ended === 'by-deadline') return queryTimeout(outcome.deadlineMs / 1000)
  if (outcome.ended === 'by-caller') return queryCancelled()
  if (error instanceof ClickHouseError) {
    const safe = withoutValues(error)
    if (error.code === endOfData && lostNode.test(error.message)) return engineUnavailable(shardAway, safe)
    return storageError(safe) ?? translations[error.code]?.(safe, outcome) ?? sqlError(error)
  }
  return engineUnavailable('The engine is not available at the moment.', error)
}

/** From here on, a message quotes the statement. */
const quotation = /\b(?:while|when|in scope|in query)\b/i
const maxCauseLength = 500

/** The same error for the log, without values of the statement. It is a new error, because a stack has the message. */
function withoutValues({ message, code, type }: ClickHouseError): ClickHouseError {
  const end = quotation.exec(message)?.index
  const own = end === undefined ? message : trimEndOf(message.slice(0, end), ' \n:.(')
  const safe = own.replace(/'(?:[^'\\]|\\.)*'?/g, "'…'")
  return new ClickHouseError({ message: safe.slice(0, maxCauseLength), code, type })
}

/** Types of errors that come from the operating system. */
const systemTypes =
  /^(?:CANNOT_\w*?(?:FILE|FSYNC|DIRECTORY|STAT|LINK|SEEK)|(?:SYSTEM_ERROR|STD_EXCEPTION|POCO_EXCEPTION)$)/

/** The form in which any message quotes the operating system. */
const systemMessage = /\berrno: \d{1,9}, strerror: /

/** Messages of these types quote the statement, and so can contain anything. */
const statementTypes = /^(?:FUNCTION_|UNKNOWN_|SYNTAX_|ILLEGAL_|BAD_|CANNOT_PARSE_)/

/** An error of the disk, as the operating system reported it. */
function storageError(error: ClickHouseError): WellheadError | undefined {
  const { type = '', message } = error
  if (unreadableRow.has(error.code) || statementTypes.test(type)) return undefined
  const numbered = systemMessage.test(message)
  if (!numbered && !systemTypes.test(type)) return undefined
  if (/no space left|disk quota exceeded/i.test(message)) return diskFull()
  if (/read-only file system/i.test(message)) {
    return engineUnavailable('The disk is read-only at the moment.', error)
  }
  if (/too many open files/i.test(message)) {
    return engineUnavailable('The engine cannot open more files at the moment.', error)
  }
  const isOfDisk = /^filesystem error|input\/output error|i\/o error/i.test(message)
  if (isOfDisk || numbered || type.startsWith('CANNOT_')) {
    return engineUnavailable('The disk fails at the moment.', error)
  }
  return undefined
}

/** Whether the disk is the cause, so that an immediate retry does not help. */
export function isDiskTrouble(error: unknown): boolean {
  const cause = causeOf(error)
  return cause !== undefined && storageError(cause) !== undefined
}

export function isUnreachable(error: unknown): boolean {
  return engineUnavailable.is(error) && engineCodeOf(error) === undefined
}

/** Codes that concern the server or its user, not the statement: a password, an address, a grant, a setting, the cluster. */
export const serverFaults: ReadonlySet<number> = new Set([192, 193, 194, 195, 452, 497, 516, 701])

/**
 * Codes of a node that runs but cannot serve now, while another may: too many queries or connections, no way to other nodes
 * or to the keeper, a read-only table, a replica that lags, a shutdown, or what only this node refuses.
 */
const nodeTroubles = new Set([198, 202, 203, 209, 210, 225, 236, 242, 279, 289, 319, 999, ...serverFaults])

/** Whether another node may serve the request: nothing was received of the response, or this node cannot serve. */
export function isNodeTrouble(error: unknown): boolean {
  if (isUnreachable(error)) return !((error as Error).cause instanceof BrokenResponse)
  const code = engineCodeOf(error) ?? 0
  const lostAnother = code === endOfData && engineUnavailable.is(error)
  return lostAnother || nodeTroubles.has(code) || isDiskTrouble(error)
}

/** Whether an insert was refused, because another one waits for its quorum. */
export function isQuorumBusy(error: unknown): boolean {
  return engineCodeOf(error) === 286
}

export function engineCodeOf(error: unknown): number | undefined {
  return causeOf(error)?.code
}

function causeOf(error: unknown): ClickHouseError | undefined {
  return error instanceof Error && error.cause instanceof ClickHouseError ? error.cause : undefined
}

const unreadableRow = new Set([
  6, 25, 26, 27, 38, 41, 53, 69, 70, 72, 117, 130, 131, 306, 321, 349, 407, 467, 675, 676, 691,
])

/** Whether a row could not be parsed, so that other rows of the same insert may be valid. */
export function isUnreadableRow(error: unknown): boolean {
  return unreadableRow.has(engineCodeOf(error) ?? 0)
}

function withCause(error: WellheadError, cause: ClickHouseError): WellheadError {
  error.cause = cause
  return error
}

function sqlError(error: ClickHouseError): WellheadError {
  const { message } = error
  const position = /\(line (\d+), col (\d+)\)/.exec(message)
  const at = position ? { line: Number(position[1]), column: Number(position[2]) } : undefined
  return withCause(invalidQuery(message, at), withoutValues(error))
}
