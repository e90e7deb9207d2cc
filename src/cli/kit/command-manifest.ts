import type { Command } from 'commander'
import type { CommandIo } from './command-io.ts'

export type DefineCommand = (command: Command, io: CommandIo) => void

/** A command, as the help lists it. Its code is imported when somebody uses it. */
export interface CommandManifest {
  readonly name: string
  readonly description: string
  /** The command before it in the help. */
  readonly after: string
  load(): Promise<DefineCommand>
}
