import { once } from 'node:events'
import { StartProblem } from '../../base/data-directory.ts'
import { EngineStartError } from '../../engine/host/protocol.ts'
import { Workbench } from '../../workspace/workbench.ts'
import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'

/** Work with a throw-away service, which is gone afterwards, also when somebody stops the command. */
export async function withWorkbench<T>(io: CommandIo, work: (bench: Workbench) => Promise<T>): Promise<T> {
  const { environment, node, signal } = io
  const bench = await Workbench.open({ environment, node }).catch((error: unknown) => {
    throw explained(error)
  })
  const over = new AbortController()
  const stopped = once(signal, 'abort', { signal: over.signal }).then(() => Promise.reject(signal.reason))
  // Where nobody stops it, the wait for that is given up, which is no failure.
  stopped.catch(() => {})
  try {
    signal.throwIfAborted()
    return await Promise.race([work(bench), stopped])
  } finally {
    over.abort()
    await bench.close()
  }
}

function explained(error: unknown): unknown {
  if (error instanceof StartProblem)
    return new CommandFailure(`${error.message} TMPDIR names the place here.`)
  if (!(error instanceof EngineStartError)) return error
  return new CommandFailure(
    error.reason === 'no-engine'
      ? `This needs the embedded engine, and there is none for this machine: ${error.message.split('\n')[0]}`
      : `The embedded engine cannot start: ${error.message}`,
    undefined,
    { cause: error },
  )
}
