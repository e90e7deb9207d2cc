import type { Outcome, WireAnswer } from './wire.ts'

/** Failures of the service that are specified, each with what the caller is to do. */
const specified = new Set([503, 504, 507])

/** Those that tell when to come back. */
const waiting = new Set([429, 503, 507])

export interface AnswerContext {
  /** Whether the request had an end that the service could see. */
  framed: boolean
  operation: string
  method: string
}

/** What is wrong with what came back, if anything is. */
export function checkAnswer(
  outcome: Outcome,
  { framed, operation, method }: AnswerContext,
): string | undefined {
  if (outcome === 'silent') return framed ? 'no answer in time' : undefined
  // To somebody who asks for another protocol nothing can be said.
  if (outcome === 'closed') return framed ? 'the connection was closed without an answer' : undefined
  const { status } = outcome
  if (status < 200 || status > 599) return `the status ${status}`
  if (status >= 500 && !specified.has(status)) return `${status}: ${textOf(outcome)}`
  if (waiting.has(status) && !/^\d+$/.test(outcome.headers.get('retry-after') ?? '')) {
    return `${status} without Retry-After`
  }
  // An answer to HEAD has no body.
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
  return whole ? undefined : `${answer.status} in another shape: ${textOf(answer)}`
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

/** OpenTelemetry has a shape of its own, in the form that was sent. */
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
