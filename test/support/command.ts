import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

export interface CommandResult {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface RunningCommand {
  child: ChildProcess
  result: Promise<CommandResult>
}

export interface CommandChoices {
  environment?: Record<string, string>
  input?: string | Buffer
  cwd?: string
}

/** Starts `wellhead` in a separate process without a terminal. */
export function startCommand(args: readonly string[], choices: CommandChoices = {}): RunningCommand {
  const { environment = {}, input = '', cwd } = choices
  const child = spawn(process.execPath, [main, ...args], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
    cwd,
  })
  // A command that reads no input may end before it is written.
  child.stdin?.on('error', () => {})
  child.stdin?.end(input)
  const texts = [child.stdout, child.stderr].map(async (stream) => {
    const chunks: Buffer[] = []
    for await (const chunk of stream ?? []) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks).toString()
  })
  const result = once(child, 'close').then(async ([code, signal]) => {
    const [stdout = '', stderr = ''] = await Promise.all(texts)
    return { code: code as number | null, signal: signal as NodeJS.Signals | null, stdout, stderr }
  })
  return { child, result }
}

export function runCommand(args: readonly string[], choices?: CommandChoices): Promise<CommandResult> {
  return startCommand(args, choices).result
}
