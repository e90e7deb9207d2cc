import type { Outcome, WireAnswer } from './wire.ts'

/** Documented failures of the service. */
const specified = new Set([503, 504, 507])

/** Statuses that need `Retry-After`. */
const waiting = new Set([429, 503, 507])

export interface AnswerContext {
  /** Whether the service can tell where the request ends. */
  framed: boolean
  operation: string
  method: string
}

/** Returns what is wrong with the outcome, or undefined. */
export function checkAnswer(
  outcome: Outcome,
  { framed, operation, method }: AnswerContext,
): string | undefined {
  if (outcome === 'silent') return framed ? 'no response in time' : undefined
  if (outcome === 'closed') return framed ? 'the connection was closed without a response' : undefined
  const { status } = outcome
  if (status < 200 || status > 599) return `invalid status ${status}`
  if (status >= 500 && !specified.has(status)) return `${status}: ${textOf(outcome)}`
  if (waiting.has(status) && !/^\d+$/.test(outcome.headers.get('retry-after') ?? '')) {
    return `${status} without Retry-After`
  }
  // Responses to HEAD have no body.
  if (status < 400 || method === 'HEAD') return undefined
  return operation.endsWith('/v1/logs') ? otlpFault(outcome) : errorFault(outcome)
}

function errorFault(answer: WireAnswer): string | undefined {
  if (!answer.headers.get('content-type')?.startsWith('application/json')) {
    return `${answer.status} as ${answer.headers.get('content-type')}: ${textOf(answer)}`
  }
  const error = errorOf(answer)
  const whole =
    error &&
    ['code', 'message', 'request_id'].every((name) => typeof error[name] === 'string' && error[name] !== '')
  return whole ? undefined : `${answer.status} with an unexpected body: ${textOf(answer)}`
}

function errorOf(answer: WireAnswer): Record<string, unknown> | undefined {
  try {
    const body = JSON.parse(answer.body.toString()) as Record<string, unknown>
    const isAlone = Object.keys(body).length === 1
    return isAlone ? (body.error as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** OTLP defines its own error body, in the encoding of the request. */
function otlpFault(answer: WireAnswer): string | undefined {
  if (answer.headers.get('content-type')?.startsWith('application/x-protobuf')) {
    return undefined
  }
  try {
    const body = JSON.parse(answer.body.toString()) as { message?: unknown; error?: unknown }
    return typeof body.message === 'string' || body.error !== undefined
      ? undefined
      : `${answer.status}: ${textOf(answer)}`
  } catch {
    return `${answer.status}: ${textOf(answer)}`
  }
}

function textOf({ body }: WireAnswer): string {
  return JSON.stringify(body.toString().slice(0, 300))
}
