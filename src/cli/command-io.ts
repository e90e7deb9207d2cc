import { type Readable, Writable } from 'node:stream'
import pc from 'picocolors'
import type { Clock } from '../base/clock.ts'
import { visible } from './output/format.ts'

type Colors = ReturnType<typeof pc.createColors>

export interface CommandOutput {
  /** Resolves when more text can be written. Never rejects: the process handles a closed pipe. */
  write(data: string | Uint8Array): Promise<void>
  isTerminal: boolean
  columns: number
  colors: Colors
}

type Environment = Readonly<Record<string, string | undefined>>

/** What the process provides to a command. Commands do not access the process directly. */
export interface CommandIo {
  stdout: CommandOutput
  stderr: CommandOutput
  stdin: Readable
  stdinIsTerminal: boolean
  environment: Environment
  cwd: string
  /** Aborted by SIGINT and SIGTERM, with the signal's name as the reason. */
  signal: AbortSignal
  clock: Clock
  pid: number
  isAlive(pid: number): boolean
  node: string
  nodeVersion: string
}

/** Terminals get colors, unless NO_COLOR, FORCE_COLOR or TERM=dumb says otherwise. */
export function colorsFor(isTerminal: boolean, { NO_COLOR, FORCE_COLOR, TERM }: Environment): Colors {
  const isForced = FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  return pc.createColors(!NO_COLOR && (FORCE_COLOR ? isForced : isTerminal && TERM !== 'dumb'))
}

/** 1 also means that a check found problems. */
export const exitCodes = { done: 0, failed: 1, usage: 2 } as const

/** Ends a command with a message for the user; an empty message if everything is already printed. */
export class CommandFailure extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode: number = exitCodes.failed, options?: { cause?: unknown }) {
    super(message, options)
    this.exitCode = exitCode
  }
}

export function usageFailure(message: string): CommandFailure {
  return new CommandFailure(message, exitCodes.usage)
}

export async function confirm(io: CommandIo, warning: string, yes: boolean | undefined): Promise<void> {
  if (yes) return
  if (!io.stdinIsTerminal) throw usageFailure(`${warning} Confirm with --yes.`)
  // Few commands ask.
  const { createInterface } = await import('node:readline/promises')
  const output = new Writable({
    write: (text, _encoding, done) => void io.stderr.write(text).then(() => done()),
  })
  const lines = createInterface({ input: io.stdin, output })
  try {
    // The end of the input counts as "no".
    const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
    const question = lines.question(`${visible(warning)} Continue? [y/N] `, { signal: io.signal })
    const answer = await Promise.race([question, ended])
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailure('Nothing was changed.')
  } finally {
    lines.close()
  }
}
