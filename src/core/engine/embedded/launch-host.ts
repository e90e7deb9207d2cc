import { type ChildProcess, spawn } from 'node:child_process'
import { packageFile } from '../../base/package-file.ts'

/** Starts an engine process. It loads the engine's library, and waits for its options before it touches any data. */
export function launchHost(node: string, environment: Readonly<NodeJS.ProcessEnv>): ChildProcess {
  // Keeps the service's secrets from the engine.
  const { PATH, HOME, TMPDIR, LD_LIBRARY_PATH } = environment
  const child = spawn(node, [packageFile('dist/engine-host.js')], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { PATH, HOME, TMPDIR, LD_LIBRARY_PATH, TZ: 'UTC' },
  })
  // Whoever uses the process learns from its missing id that it could not be started.
  child.on('error', () => {})
  return child
}
