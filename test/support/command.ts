import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { runProgram } from '../../src/cli/program.ts'
import { systemClock } from '../../src/core/base/clock.ts'
import { memoryIo, memoryOutput } from './memory-io.ts'
import { isAlive } from './service-process.ts'

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
  command?: string[]
}

/** Commands that start an engine need to know which one this machine has. */
function environmentOf({ environment = {} }: Pick<CommandChoices, 'environment'>): NodeJS.ProcessEnv {
  const { PATH, TMPDIR, WELLHEAD_ENGINE_NODE, WELLHEAD_ENGINE_PATIENCE } = process.env
  return {
    PATH,
    ...(TMPDIR && { TMPDIR }),
    ...(WELLHEAD_ENGINE_NODE && { WELLHEAD_ENGINE_NODE }),
    ...(WELLHEAD_ENGINE_PATIENCE && { WELLHEAD_ENGINE_PATIENCE }),
    ...environment,
  }
}

/**
 * Starts `wellhead` in a separate process without a terminal.
 * Input that is a stream keeps the command waiting until it ends.
 */
export function startCommand(
  args: readonly string[],
  choices: Omit<CommandChoices, 'input'> & { input?: CommandChoices['input'] | Readable } = {},
): RunningCommand {
  const { input = '', cwd, command = [process.execPath, main] } = choices
  const [executable, ...before] = command as [string, ...string[]]
  const child = spawn(executable, [...before, ...args], {
    env: environmentOf(choices),
    stdio: ['pipe', 'pipe', 'pipe'],
    cwd,
  })
  // A command that reads no input may end before it is written.
  child.stdin.on('error', () => {})
  if (input instanceof Readable) input.pipe(child.stdin)
  else child.stdin.end(input)
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

const outputs = () => ({ stdout: memoryOutput({ columns: 120 }), stderr: memoryOutput({ columns: 120 }) })

/** Runs `wellhead` in this process: a separate one would need most of its time to load the modules. */
export async function runCommand(
  args: readonly string[],
  choices: CommandChoices = {},
): Promise<Omit<CommandResult, 'signal'>> {
  const { input = '', cwd = process.cwd() } = choices
  const io = memoryIo({
    ...outputs(),
    input,
    cwd,
    environment: environmentOf(choices),
    clock: systemClock,
    pid: process.pid,
    isAlive,
    node: process.execPath,
  })
  const code = await runProgram(args, io)
  return { code, stdout: io.stdout.text(), stderr: io.stderr.text() }
}
