import type { IntakeOutcome } from '../../intake/entry-store.ts'
import { objectWith, type ServiceClient, ServiceFailure } from '../service-client.ts'
import type { LogBatch } from './log-batches.ts'

interface SendOptions {
  client: Pick<ServiceClient, 'exchange'>
  source: string
  /** Waits; rejects when the command is stopped. */
  pause(ms: number): Promise<void>
  onWait?(failure: ServiceFailure, ms: number): void
  /** By default, about five minutes with the pauses between attempts. */
  maxAttempts?: number
  /** Whether the service has responded before, so that waiting for it makes sense. */
  wasReached?: boolean
}

const firstPauseMs = 500
const longestPauseMs = 30_000
const longestRetryAfterMs = 300_000

/** Temporary failures. The idempotency key makes a retry safe even if the first attempt was stored. */
const retryableStatuses = new Set([0, 408, 429, 500, 502, 503, 504, 507])

const intakeResponse = objectWith<IntakeOutcome>('accepted', 'rejected', 'errors')

export interface SentBatch extends Omit<IntakeOutcome, 'withoutProject'> {
  /** Whether an earlier command had already stored the batch. */
  repeated: boolean
}

export async function sendBatch(batch: LogBatch, key: string, options: SendOptions): Promise<SentBatch> {
  const { client, source, pause, onWait, maxAttempts = 14, wasReached = true } = options
  for (let attempt = 1; ; attempt++) {
    try {
      const { body, headers } = await client.exchange('POST', '/api/logs', intakeResponse, {
        query: { source },
        body: batch.body,
        headers: { 'Content-Type': 'application/x-ndjson', 'Idempotency-Key': key },
      })
      // A retry may replay what the first attempt of this command stored.
      return { ...body, repeated: attempt === 1 && headers.get('idempotency-replayed') === 'true' }
    } catch (error) {
      if (!(error instanceof ServiceFailure)) throw error
      const { status, code, retryAfterSeconds = 0 } = error.details
      if (code === 'invalid_body') return allRejected(batch)
      const isRetryable = retryableStatuses.has(status) && (status !== 0 || wasReached)
      if (!isRetryable || attempt >= maxAttempts) throw error
      const ms = Math.max(
        Math.min(longestPauseMs, firstPauseMs * 2 ** (attempt - 1)),
        Math.min(longestRetryAfterMs, retryAfterSeconds * 1000),
      )
      onWait?.(error, ms)
      await pause(ms)
    }
  }
}

/** The service rejects the whole body if no line of it is valid JSON. */
function allRejected({ lines }: LogBatch): SentBatch {
  const errors = lines.map((_, index) => ({ index, reason: 'the line is not valid JSON' }))
  return { accepted: 0, rejected: lines.length, errors, repeated: false }
}
