#!/usr/bin/env node
/** The process edge: only this file uses arguments, environment, signals and exit codes of the process. */
import type { WriteStream } from 'node:tty'
import { type CommandIo, type CommandOutput, colorsFor, exitCodes } from './cli/kit/command-io.ts'
import { runProgram } from './cli/program.ts'
import { systemClock } from './core/base/clock.ts'
import { showSourcePositions } from './core/base/source-positions.ts'

/** Width of lines if the output is not a terminal. */
const defaultColumns = 120

/** Time after a signal to read the remaining output, and in which npm, timeout or a terminal may send the signal again. */
const settleMs = 1_000

showSourcePositions()

const stop = new AbortController()
let isSettled = false
for (const name of ['SIGTERM', 'SIGINT'] as const) {
  process.on(name, () => {
    if (isSettled) process.exit(exitCodes.failed)
    stop.abort(name)
  })
}

// npx starts a shell, which a signal ends but not what it started: its end is the signal.
if (/^'?wellhead'?$/.test(process.env.npm_lifecycle_script ?? '')) {
  const { ppid } = process
  setInterval(() => process.ppid !== ppid && stop.abort('SIGTERM'), 200).unref()
}

/** Writes that wait for a reader. After a signal they do not wait for long, so that the process ends. */
const waiting = new Set<() => void>()
let isWaiting = true
stop.signal.addEventListener('abort', () =>
  setTimeout(() => {
    isWaiting = false
    for (const resolve of waiting) resolve()
    // Signals that arrived while the process was busy come first.
    setImmediate(() => {
      isSettled = true
    })
  }, settleMs),
)

const io: CommandIo = {
  stdout: outputOf(process.stdout),
  stderr: outputOf(process.stderr),
  // An unused but opened stdin would keep the process running.
  get stdin() {
    return process.stdin
  },
  get stdinIsTerminal() {
    return process.stdin.isTTY === true
  },
  environment: process.env,
  cwd: process.cwd(),
  signal: stop.signal,
  clock: systemClock,
  pid: process.pid,
  isAlive,
  node: process.execPath,
  nodeVersion: process.version,
}

for (const stream of [process.stdout, process.stderr] as WithHandle[]) {
  // Node blocks on terminals, so that Ctrl-S would stop the service.
  stream._handle?.setBlocking?.(false)
}
// A reader such as head may close the pipe early.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  process.exit(code === 'EPIPE' ? exitCodes.done : exitCodes.failed)
})
// Errors of stderr cannot be reported.
process.stderr.on('error', () => {})

interface WithHandle {
  _handle?: { setBlocking?(isBlocking: boolean): void }
}

function outputOf(stream: WriteStream): CommandOutput {
  const isTerminal = stream.isTTY === true
  return {
    write: (data) =>
      new Promise((resolve) => {
        waiting.add(resolve)
        stream.write(data, () => {
          waiting.delete(resolve)
          resolve()
        })
        if (!isWaiting) resolve()
      }),
    isTerminal,
    get columns() {
      return (isTerminal && stream.columns) || defaultColumns
    },
    colors: colorsFor(isTerminal, process.env),
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // The process belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const exitCode = await runProgram(process.argv.slice(2), io)
// Wait until pipes have taken all output.
await Promise.all([io.stdout.write(''), io.stderr.write('')])
process.exit(exitCode)
