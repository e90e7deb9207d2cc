import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

export interface RunningCommand {
  child: ChildProcess
  /** How it ended; the code is null where a signal ended it. */
  ended: Promise<{ code: number | null; stderr: string }>
}

/** The command line, in a process of its own. */
export function runWellhead(...args: string[]): RunningCommand {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
  const exit = once(child, 'exit')
  const ended = text(child.stderr).then(async (stderr) => {
    const [code] = (await exit) as [number | null]
    return { code, stderr: stderr.trim() }
  })
  return { child, ended }
}
