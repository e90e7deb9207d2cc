import type { IntakeOutcome } from '../../intake/entry-store.ts'
import { intakeAnswer } from '../service-answers.ts'
import { type ServiceClient, ServiceFailure } from '../service-client.ts'
import type { LogBatch } from './log-batches.ts'

export interface SendOptions {
  client: Pick<ServiceClient, 'answer'>
  source: string
  /** Waits; rejects when the command is stopped. */
  pause(ms: number): Promise<void>
  /** Told before each wait. */
  onWait(failure: ServiceFailure, ms: number): void
  maxAttempts: number
  /** Whether the service answered before, so that it is worth waiting for when it is away. */
  known: boolean
}

const firstPauseMs = 500
const longestPauseMs = 30_000
const longestRetryAfterMs = 300_000

/** Statuses that pass by themselves. The key makes it safe to send again whatever became of the first try. */
const passing = new Set([0, 408, 429, 500, 502, 503, 504, 507])

export interface SentBatch extends IntakeOutcome {
  /** Whether all of it was stored before this was sent. */
  replayed: boolean
}

/** Sends until there is an answer that stays the same. */
export async function sendBatch(batch: LogBatch, key: string, options: SendOptions): Promise<SentBatch> {
  const { client, source, pause, onWait, maxAttempts, known } = options
  for (let attempt = 1; ; attempt++) {
    try {
      const { body, headers } = await client.answer('POST', '/api/logs', intakeAnswer, {
        query: { source },
        body: batch.body,
        headers: { 'Content-Type': batch.contentType, 'Idempotency-Key': key },
      })
      // A second try may meet what the first one stored without being answered.
      return { ...body, replayed: attempt === 1 && headers.get('idempotency-replayed') === 'true' }
    } catch (error) {
      if (!(error instanceof ServiceFailure)) throw error
      if (error.code === 'invalid_body' && batch.lines.length > 0) return allRejected(batch)
      const worthIt = passing.has(error.status) && (error.status !== 0 || known)
      if (!worthIt || attempt >= maxAttempts) throw error
      const ms = Math.max(
        Math.min(longestPauseMs, firstPauseMs * 2 ** (attempt - 1)),
        Math.min(longestRetryAfterMs, (error.retryAfterSeconds ?? 0) * 1000),
      )
      onWait(error, ms)
      await pause(ms)
    }
  }
}

/** Lines of which none is JSON are refused as one body. */
function allRejected({ lines }: LogBatch): SentBatch {
  const errors = lines.map((_, index) => ({ index, reason: 'the line is not valid JSON' }))
  return { accepted: 0, rejected: lines.length, errors, replayed: false }
}
