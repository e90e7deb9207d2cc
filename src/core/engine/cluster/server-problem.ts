import { diskFull, engineUnavailable, invalidQuery, queryTimeout, WellheadError } from '../../base/errors.ts'
import { OperatorError } from '../../base/operator-error.ts'
import { trimEndOf } from '../../base/text/trim-end.ts'
import { ClickHouseError } from '../clickhouse-http.ts'
import { serverFaults } from '../engine-errors.ts'

/** Whom a problem concerns. */
export interface ServerIdentity {
  url: URL
  user: string
  database: string
  cluster?: string | undefined
}

/** A ClickHouse server cannot be used for a reason that its operator can fix. */
export class ServerProblem extends OperatorError {
  /** Without the address, the user and statements, because anybody can read it in `/ready`. */
  readonly reason: string
  readonly advice: string
  /** Whether nothing is known about the server itself, because it does not respond. */
  readonly isAway: boolean

  constructor(
    { url }: ServerIdentity,
    reason: string,
    advice: string,
    { isAway = false, cause }: { isAway?: boolean; cause?: unknown } = {},
  ) {
    super(`${url.origin}: ${reason} ${advice}`, { cause })
    this.reason = reason
    this.advice = advice
    this.isAway = isAway
  }
}

const maxQuotedLength = 200

/** The first line of a message, as a sentence. */
function sentence(message: string): string {
  return `${trimEndOf((message.split('\n')[0] ?? '').slice(0, maxQuotedLength), ' .\r')}.`
}

/** What responds, if anything does, is not ClickHouse. A proxy whose server is away says so by its status. */
export function cannotConnect(server: ServerIdentity, message: string): ServerProblem {
  const advice = `${sentence(message)} Check that it is running, and WELLHEAD_CLICKHOUSE_URL: http:// or https://, and the HTTP port.`
  const isAway = !/^HTTP status (?!50[234])/.test(message)
  return new ServerProblem(server, 'Cannot connect to ClickHouse.', advice, { isAway })
}

/** ClickHouse says itself what is wrong. */
function refused(server: ServerIdentity, cause: ClickHouseError, message: string): ServerProblem {
  const reason = `ClickHouse refuses the service: ${cause.type ?? `error ${cause.code}`}.`
  return new ServerProblem(server, reason, `It says: ${sentence(message)} See docs/cluster.md.`, { cause })
}

/** Undefined if the error is not about the server. */
export function explainServerError(error: unknown, server: ServerIdentity): ServerProblem | undefined {
  if (error instanceof ServerProblem) return error
  if (error instanceof ClickHouseError) return refused(server, error, error.message)
  if (!(error instanceof WellheadError)) return undefined
  const { cause, message } = error
  // An error of SQL has the text that its cause lacks.
  if (cause instanceof ClickHouseError)
    return refused(server, cause, invalidQuery.is(error) ? message : cause.message)
  if (diskFull.is(error))
    return new ServerProblem(server, 'The disk of ClickHouse is full.', 'Free some space.')
  if (!engineUnavailable.is(error) && !queryTimeout.is(error)) return undefined
  return cannotConnect(server, cause instanceof Error ? cause.message : message)
}

/** The error of a statement that the server refused for a reason other than the statement, so that the server must be checked. */
export function serverFault(error: unknown, server: ServerIdentity): WellheadError | undefined {
  if (!(error instanceof WellheadError && error.cause instanceof ClickHouseError)) return undefined
  const { code, type } = error.cause
  if (!serverFaults.has(code)) return undefined
  const cause = new ClickHouseError({ message: error.message, code, type })
  return engineUnavailable(refused(server, cause, error.message).reason, cause)
}
