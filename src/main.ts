#!/usr/bin/env node
/** The process edge: the only place that knows arguments, environment, signals and exit codes. */
import type { WriteStream } from 'node:tty'
import { systemClock } from './base/clock.ts'
import { exitCodes } from './cli/command-failure.ts'
import { type CommandIo, type CommandOutput, colorsFor } from './cli/command-io.ts'
import { runProgram } from './cli/program.ts'

/** Where there is no terminal to fit into. */
const generousColumns = 120

const stop = new AbortController()
for (const name of ['SIGTERM', 'SIGINT'] as const) {
  process.on(name, () => {
    if (stop.signal.aborted) process.exit(exitCodes.failed)
    stop.abort(name)
  })
}

const io: CommandIo = {
  stdout: outputOf(process.stdout),
  stderr: outputOf(process.stderr),
  // Opened only by who reads it: else it would keep the process waiting.
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
  machine: {
    nodeVersion: process.version,
    platform: process.platform,
    arch: process.arch,
    glibcVersion: () => {
      const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } }
      return header?.glibcVersionRuntime
    },
  },
}

// Whoever reads the first lines only, as head does, has what it wanted.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  process.exit(code === 'EPIPE' ? exitCodes.done : exitCodes.failed)
})
// There is nobody left to tell.
process.stderr.on('error', () => {})

function outputOf(stream: WriteStream): CommandOutput {
  const isTerminal = stream.isTTY === true
  return {
    write: (data) => new Promise((resolve) => stream.write(data, () => resolve())),
    isTerminal,
    get columns() {
      return (isTerminal && stream.columns) || generousColumns
    },
    colors: colorsFor(isTerminal, process.env),
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It is there, and somebody else's.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const exitCode = await runProgram(process.argv.slice(2), io)
// What is written to a pipe may still be on its way.
await Promise.all([io.stdout.write(''), io.stderr.write('')])
process.exit(exitCode)
