import { ApiError, type ErrorBody, send } from './api.ts'
import { type CallResult, queryPath } from './call-endpoint.ts'
import { connection } from './connection.ts'
import { isTemporary, messagesOf } from './event-stream.ts'
import type { Row } from './shapes.ts'

interface ResultEvents {
  onOpen: () => void
  onBroken: () => void
  onResult: (result: CallResult) => void
  /** The query failed. Results may follow. */
  onError: (error: ApiError) => void
}

const firstPauseMs = 1_000
const longestPauseMs = 15_000

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
  let failures = 0
  const follow = async () => {
    const headers = { Accept: 'text/event-stream', ...(lastId !== undefined && { 'Last-Event-ID': lastId }) }
    const { body } = await send(queryPath(name, values), {
      signal,
      headers,
      ...(token !== undefined && { token }),
    })
    events.onOpen()
    let truncated = false
    for await (const messages of messagesOf(body as ReadableStream<Uint8Array>)) {
      failures = 0
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
        events.onResult(liveResult((JSON.parse(data) as { result: Row[] }).result, truncated))
        truncated = false
      }
    }
  }
  for (;;) {
    try {
      await follow()
    } catch (error) {
      signal.throwIfAborted()
      if (!isTemporary(error)) throw error
      if (!(error instanceof ApiError)) connection.lost()
    }
    signal.throwIfAborted()
    events.onBroken()
    await connection.pause(Math.min(longestPauseMs, firstPauseMs * 2 ** failures++), signal)
    signal.throwIfAborted()
  }
}

/** Events do not say what a result cost. */
function liveResult(rows: Row[], truncated: boolean): CallResult {
  return {
    ...{ rows, truncated, columns: undefined, cache: undefined, ageSeconds: undefined, totalMs: undefined },
    ...{ engineMs: undefined, readRows: undefined, readBytes: undefined, version: undefined },
  }
}
