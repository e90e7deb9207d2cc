import { eventsOf } from '../../../src/shared/event-stream.ts'
import { ApiError, type ErrorBody, send } from './api.ts'
import { type CallResult, queryPath } from './call-endpoint.ts'
import { reconnecting } from './reconnecting.ts'
import type { Row } from './shapes.ts'

interface ResultEvents {
  onOpen: () => void
  onBroken: () => void
  onResult: (result: CallResult) => void
  /** The query failed. Results may follow. */
  onError: (error: ApiError) => void
}

/**
 * Reports the result of an endpoint and its changes, until the signal aborts. Reconnects after a break. Throws errors that
 * reconnecting does not solve.
 */
export async function followResult(
  name: string,
  values: Record<string, string>,
  events: ResultEvents,
  signal: AbortSignal,
  /** Instead of the token of the session. */
  token?: string,
): Promise<void> {
  let lastId: string | undefined
  const follow = async (alive: () => void) => {
    const headers = { Accept: 'text/event-stream', ...(lastId !== undefined && { 'Last-Event-ID': lastId }) }
    const { body } = await send(queryPath(name, values), {
      signal,
      headers,
      ...(token !== undefined && { token }),
    })
    events.onOpen()
    let truncated = false
    for await (const messages of eventsOf(body as ReadableStream<Uint8Array>)) {
      alive()
      for (const { event, id, data } of messages) {
        if (event === 'truncated') truncated = true
        if (event === 'error') {
          const { error } = JSON.parse(data) as { error: ErrorBody & { status?: number } }
          // The next result is sent in any case.
          lastId = undefined
          events.onError(new ApiError(error.status ?? 500, error))
        }
        if (event !== 'result') continue
        lastId = id
        // Events do not say what a result cost.
        events.onResult({ rows: (JSON.parse(data) as { result: Row[] }).result, truncated })
        truncated = false
      }
    }
  }
  return reconnecting(follow, events.onBroken, signal)
}
