import type { Readable } from 'node:stream'
import pc from 'picocolors'
import type { Clock } from '../base/clock.ts'

export type Colors = ReturnType<typeof pc.createColors>

/** A place to write to. */
export interface CommandOutput {
  /** Resolves when the next text may come; never rejects, since the process edge sees to a reader that left. */
  write(data: string | Uint8Array): Promise<void>
  isTerminal: boolean
  /** Width of the terminal; a generous one elsewhere. */
  columns: number
  colors: Colors
}

/** What the process edge gives a command. Commands know no process. */
export interface CommandIo {
  stdout: CommandOutput
  stderr: CommandOutput
  stdin: Readable
  stdinIsTerminal: boolean
  environment: Readonly<Record<string, string | undefined>>
  cwd: string
  /** Aborted by SIGINT and SIGTERM, with the name of the signal as its reason; a second one ends the process. */
  signal: AbortSignal
  clock: Clock
  pid: number
  /** Whether a process of this id is there. */
  isAlive(pid: number): boolean
  /** Node executable that runs this command. */
  node: string
}

/** Colour is for people: on a terminal, unless they say otherwise. */
export function wantsColor(
  isTerminal: boolean,
  environment: Readonly<Record<string, string | undefined>>,
): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = environment
  if (NO_COLOR) return false
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== '') return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  return isTerminal && TERM !== 'dumb'
}

export function colorsFor(
  isTerminal: boolean,
  environment: Readonly<Record<string, string | undefined>>,
): Colors {
  return pc.createColors(wantsColor(isTerminal, environment))
}
