import { isTemporary } from '../../../src/shared/is-temporary.ts'
import { ApiError } from './api.ts'
import { connection } from './connection.ts'

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
      // Reconnecting would not solve it.
      if (error instanceof ApiError && !isTemporary(error.status)) throw error
      if (!(error instanceof ApiError)) lost()
    }
    signal.throwIfAborted()
    onBroken()
    await pause(Math.min(longestPauseMs, firstPauseMs * 2 ** failures++), signal)
    signal.throwIfAborted()
  }
}
