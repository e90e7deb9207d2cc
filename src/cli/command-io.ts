import type { Readable } from 'node:stream'
import pc from 'picocolors'
import type { Clock } from '../base/clock.ts'

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
