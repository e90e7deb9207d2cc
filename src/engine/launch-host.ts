import { type ChildProcess, spawn } from 'node:child_process'
import { cpus } from 'node:os'
import { packageFile } from '../base/package-file.ts'

export interface HostLaunch {
  /** Node executable that runs the engine process. */
  node: string
  environment: Readonly<Record<string, string | undefined>>
  sessions: number
}

export const defaultSessions = Math.max(8, cpus().length * 2)

/** For the control session and for Node's own work, besides one thread for each session. */
const spareThreads = 6

/** Starts an engine process. It loads the engine's library, and waits for its options before it touches any data. */
export function launchHost({ node, environment, sessions }: HostLaunch): ChildProcess {
  // Keeps the service's secrets from the engine.
  const { PATH, HOME, TMPDIR, LD_LIBRARY_PATH } = environment
  const threads = String(sessions + spareThreads)
  const child = spawn(node, [packageFile('dist/engine-host.js')], {
    // An INSERT could read the standard input.
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { PATH, HOME, TMPDIR, LD_LIBRARY_PATH, TZ: 'UTC', UV_THREADPOOL_SIZE: threads },
  })
  // Whoever uses the process learns from its missing id that it could not be started.
  child.on('error', () => {})
  return child
}
