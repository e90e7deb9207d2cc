import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

export interface RunningCommand {
  child: ChildProcess
  /** The code is null if a signal ended the command. */
  ended: Promise<{ code: number | null; stderr: string }>
}

/** Runs the command line in a separate process. */
export function runWellhead(...args: string[]): RunningCommand {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
  const exit = once(child, 'exit')
  const ended = text(child.stderr).then(async (stderr) => {
    const [code] = (await exit) as [number | null]
    return { code, stderr: stderr.trim() }
  })
  return { child, ended }
}
