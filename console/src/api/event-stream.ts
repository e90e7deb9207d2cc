import { eventReader, type StreamEvent } from '../../../src/shared/event-reader.ts'
import { ApiError } from './api.ts'
import { connection } from './connection.ts'

/** The service sends a heartbeat every 15 s. */
const silenceMs = 45_000

const firstPauseMs = 1_000
const longestPauseMs = 15_000

/**
 * Follows a stream until the signal aborts, again after each break. Pauses are longer while the service does not respond.
 * Throws errors that reconnecting does not solve.
 */
export async function reconnecting(
  follow: (alive: () => void) => Promise<void>,
  onBroken: () => void,
  signal: AbortSignal,
  { pause, lost }: Pick<typeof connection, 'pause' | 'lost'> = connection,
): Promise<never> {
  let failures = 0
  const alive = () => {
    failures = 0
  }
  for (;;) {
    try {
      await follow(alive)
    } catch (error) {
      signal.throwIfAborted()
      if (!isTemporary(error)) throw error
      if (!(error instanceof ApiError)) lost()
    }
    signal.throwIfAborted()
    onBroken()
    await pause(Math.min(longestPauseMs, firstPauseMs * 2 ** failures++), signal)
    signal.throwIfAborted()
  }
}

/** Whether reconnecting may solve it. */
function isTemporary(error: unknown): boolean {
  return !(error instanceof ApiError) || error.status === 429 || error.status >= 500
}

/** The events of each chunk. Throws when the stream breaks or the service falls silent. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent[]> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader()
  const read = eventReader()
  try {
    for (;;) {
      const { done, value } = await notSilent(reader.read())
      if (done) return
      const events = read(value)
      if (events.length > 0) yield events
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

async function notSilent<T>(next: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const silence = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('The service has fallen silent.')), silenceMs)
  })
  return Promise.race([next, silence]).finally(() => clearTimeout(timer))
}
