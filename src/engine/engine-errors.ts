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
import { ClickHouseError } from './clickhouse-error.ts'

export interface CallOutcome {
  deadlineMs: number
  ended: 'by-deadline' | 'by-caller' | 'by-engine'
}

const readsTooMuch = 'The query reads more than the engine allows. Select less.'

/** ClickHouse's codes that are nobody's mistake in SQL. */
const known: Record<number, (error: ClickHouseError, outcome: CallOutcome) => WellheadError> = {
  159: (_error, outcome) => queryTimeout(outcome.deadlineMs / 1000),
  394: (error) => engineUnavailable('The engine stopped the query.', error),
  241: (error) => outOfMemory(error),
  // The engine's own words for these three have the number of rows or bytes that it read, or would read.
  158: () => tooLarge(readsTooMuch),
  160: () => tooLarge(readsTooMuch),
  307: () => tooLarge(readsTooMuch),
  396: () => tooLarge('The result is larger than the engine may answer with; ask for less.'),
  202: () => overloaded('The engine has too many queries waiting.'),
  193: (error) => engineUnavailable('ClickHouse refused the user or the password.', error),
  516: (error) => engineUnavailable('ClickHouse refused the user or the password.', error),
  242: (error) => engineUnavailable('The engine can only read at the moment.', error),
  243: () => diskFull(),
  252: () => overloaded('The engine has too many parts to merge.'),
  999: (error) => engineUnavailable('The cluster cannot be written at the moment.', error),
  210: (error) => engineUnavailable('ClickHouse cannot be reached.', error),
  1001: (error) => internal(error),
  1002: (error) => internal(error),
}

/** Makes whatever a call of the client threw into an error of the catalogue. */
export function toWellheadError(error: unknown, outcome: CallOutcome): WellheadError {
  if (error instanceof WellheadError) return error
  if (outcome.ended === 'by-deadline') return queryTimeout(outcome.deadlineMs / 1000)
  if (outcome.ended === 'by-caller') return queryCancelled()
  if (error instanceof ClickHouseError) {
    const translate = known[error.code]
    const told = withoutValues(error)
    return storageError(told) ?? translate?.(told, outcome) ?? sqlError(error)
  }
  return engineUnavailable('The engine is not available at the moment.', error)
}

/** From here on the engine says what it was doing, in the words of the statement. */
const ofStatement = /[\s:.(]*\b(?:while|when|in scope|in query)\b/i
const maxCauseLength = 500

/**
 * The same error for the log, which must not hold values of a call: what went wrong, without the part of the statement at
 * which it did. It is made anew, since a stack begins with the message.
 */
function withoutValues({ message, code, type }: ClickHouseError): ClickHouseError {
  const end = ofStatement.exec(message)?.index ?? message.length
  const told = message
    .slice(0, end)
    .replace(/'(?:[^'\\]|\\.)*'?/g, "'…'")
    .slice(0, maxCauseLength)
  return new ClickHouseError({ message: told, code, type })
}

/** The engine's names of errors that the system gave it, and not somebody's SQL. */
const ofTheSystem =
  /^(?:CANNOT_\w*(?:FILE|FSYNC|DIRECTORY|STAT|LINK|SEEK)\w*|SYSTEM_ERROR|STD_EXCEPTION|POCO_EXCEPTION)$/

/** Whatever the error is called: so does a message look that has the system's own words. */
const wordsOfTheSystem = /\berrno: \d+, strerror: /

/** These repeat words of a statement, which may be any. */
const ofTheStatement = /^(?:FUNCTION_|UNKNOWN_|SYNTAX_|ILLEGAL_|BAD_|CANNOT_PARSE_)/

/** What the system said of the disk, which is never a mistake in SQL. */
function storageError(error: ClickHouseError): WellheadError | undefined {
  const { type = '', message } = error
  // Texts of callers and senders are in these messages, and may say anything.
  if (unreadableRow.has(error.code) || ofTheStatement.test(type)) return undefined
  const numbered = wordsOfTheSystem.test(message)
  if (!numbered && !ofTheSystem.test(type)) return undefined
  if (/no space left|disk quota exceeded/i.test(message)) return diskFull()
  if (/read-only file system/i.test(message)) {
    return engineUnavailable('The disk can only be read at the moment.', error)
  }
  if (/too many open files/i.test(message)) {
    return engineUnavailable('The engine cannot open more files at the moment.', error)
  }
  if (/input\/output error|i\/o error/i.test(message) || numbered || type.startsWith('CANNOT_')) {
    return engineUnavailable('The disk does not do what it is asked for at the moment.', error)
  }
  return undefined
}

/** Whether the engine is there and its disk is the trouble: trying again at once does not help. */
export function isDiskTrouble(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof ClickHouseError && storageError(cause) !== undefined
}

/** Whether nothing at all came back: not even a refusal. */
export function isUnreachable(error: unknown): boolean {
  return engineUnavailable.is(error) && engineCodeOf(error) === undefined
}

/** The engine's number of the error that is behind one of ours. */
export function engineCodeOf(error: unknown): number | undefined {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof ClickHouseError ? cause.code : undefined
}

/** Codes that blame the text of a row, and nothing else. */
const unreadableRow = new Set([
  ...[6, 25, 26, 27, 38, 41, 53, 69, 70, 72, 117, 130, 131],
  ...[306, 321, 349, 407, 467, 675, 676, 691],
])

/** Whether the engine refused rows for what is in them, so that others of the same insert may be fine. */
export function isUnreadableRow(error: unknown): boolean {
  return unreadableRow.has(engineCodeOf(error) ?? 0)
}

function sqlError(error: ClickHouseError): WellheadError {
  const { message } = error
  const position = /\(line (\d+), col (\d+)\)/.exec(message)
  const at = position ? { line: Number(position[1]), column: Number(position[2]) } : undefined
  const made = invalidQuery(message, at)
  made.cause = withoutValues(error)
  return made
}
