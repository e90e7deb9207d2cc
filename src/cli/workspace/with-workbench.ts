import { once } from 'node:events'
import { FixableProblem } from '../../base/fixable-problem.ts'
import { EngineStartError } from '../../engine/embedded/host-protocol.ts'
import { Workbench } from '../../workspace/workbench.ts'
import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'

/** Runs work with a temporary service, which is removed afterwards and when the command is stopped. */
export async function withWorkbench<T>(io: CommandIo, work: (bench: Workbench) => Promise<T>): Promise<T> {
  const { environment, node, signal } = io
  const bench = await Workbench.open({ environment, node }).catch((error: unknown) => {
    throw explainOpenError(error)
  })
  const finished = new AbortController()
  const stopped = once(signal, 'abort', { signal: finished.signal }).then(() => Promise.reject(signal.reason))
  // Also rejects when the work has finished.
  stopped.catch(() => {})
  try {
    signal.throwIfAborted()
    return await Promise.race([work(bench), stopped])
  } finally {
    finished.abort()
    await bench.close()
  }
}

function explainOpenError(error: unknown): unknown {
  if (error instanceof FixableProblem) {
    return new CommandFailure(`${error.message} Set TMPDIR to use another temporary directory.`)
  }
  if (!(error instanceof EngineStartError)) return error
  return new CommandFailure(`The embedded engine cannot start: ${error.message}`, undefined, { cause: error })
}
