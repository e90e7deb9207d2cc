import { createHash } from 'node:crypto'
import type { IntakeOutcome } from '../../../core/intake/entry-store.ts'
import { isTemporary } from '../../../shared/is-temporary.ts'
import { type ServiceClient, ServiceFailure } from '../service-client.ts'
import type { ReadEntry } from './log-input.ts'

export interface LogBatch {
  body: Buffer<ArrayBuffer>
  lines: readonly number[]
}

/** An entry that was not stored. */
export interface Rejection {
  input: string
  line: number
  reason: string
}

export type BatchOrRejection = { batch: LogBatch } | { rejection: { line: number; reason: string } }

/** Batch boundaries depend only on the entries, never on time, so that the same input produces the same batches. */
export async function* gatherBatches(
  entries: AsyncIterable<ReadEntry>,
  { maxBytes, maxEntries }: { maxBytes: number; maxEntries: number },
): AsyncGenerator<BatchOrRejection> {
  let texts: string[] = []
  let lines: number[] = []
  let bytes = 0
  const take = (): { batch: LogBatch } => {
    const batch = { body: Buffer.from(texts.join('')), lines }
    texts = []
    lines = []
    bytes = 0
    return { batch }
  }
  for await (const entry of entries) {
    // The service would reject the whole batch because of it.
    if ('reason' in entry) {
      yield { rejection: entry }
      continue
    }
    const size = Buffer.byteLength(entry.text) + 1
    if (texts.length > 0 && (bytes + size > maxBytes || texts.length >= maxEntries)) yield take()
    texts.push(`${entry.text}\n`)
    lines.push(entry.line)
    bytes += size
  }
  if (texts.length > 0) yield take()
}

/**
 * Creates idempotency keys from the content of a batch and its position among equal batches. Sending the same
 * input again produces the same keys, so nothing is stored twice. A different salt makes the same input a new one.
 */
export function batchKeys(source: string, salt = ''): (batch: Pick<LogBatch, 'body'>) => string {
  const seen = new Map<string, number>()
  return ({ body }) => {
    const content = createHash('sha256').update(`${source}\0`).update(body).digest('hex')
    const ordinal = seen.get(content) ?? 0
    seen.set(content, ordinal + 1)
    return `logs-send-${createHash('sha256').update(`${salt}${content}:${ordinal}`).digest('hex')}`
  }
}

interface SendOptions {
  client: Pick<ServiceClient, 'request' | 'read' | 'parse'>
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

interface SentBatch extends Omit<IntakeOutcome, 'overQuota'> {
  /** Whether an earlier command had already stored the batch. */
  repeated: boolean
}

export async function sendBatch(batch: LogBatch, key: string, options: SendOptions): Promise<SentBatch> {
  const { client, source, pause, onWait, maxAttempts = 14, wasReached = true } = options
  for (let attempt = 1; ; attempt++) {
    try {
      const response = await client.request('POST', '/api/logs', {
        query: { source },
        body: batch.body,
        headers: { 'Content-Type': 'application/x-ndjson', 'Idempotency-Key': key },
      })
      const outcome = client.parse<IntakeOutcome>(await client.read(response))
      const withoutProject = Number(response.headers.get('wellhead-without-project') ?? 0)
      // A retry may replay what the first attempt of this command stored.
      const repeated = attempt === 1 && response.headers.get('idempotency-replayed') === 'true'
      return { ...outcome, withoutProject, repeated }
    } catch (error) {
      if (!(error instanceof ServiceFailure)) throw error
      const { status, code, retryAfterSeconds = 0 } = error.details
      if (code === 'invalid_body') return allRejected(batch)
      // The idempotency key makes a retry safe even if the first attempt was stored.
      const isRetryable = isTemporary(status) && (status !== 0 || wasReached)
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
  return { accepted: 0, rejected: lines.length, errors, withoutProject: 0, repeated: false }
}
