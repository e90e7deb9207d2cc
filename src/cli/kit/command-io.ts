import type { Readable } from 'node:stream'
import pc from 'picocolors'
import type { Clock } from '../../core/base/clock.ts'
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
  await io.stderr.write(`${visible(warning)} Continue? [y/N] `)
  // Few commands ask.
  const { createInterface } = await import('node:readline')
  // The end of the input and a signal count as "no".
  for await (const answer of createInterface({ input: io.stdin, signal: io.signal })) {
    if (/^y(es)?$/i.test(answer.trim())) return
    break
  }
  throw new CommandFailure('Nothing was changed.')
}
