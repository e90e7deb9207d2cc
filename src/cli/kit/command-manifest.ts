import type { Command } from 'commander'
import type { KeyFile } from '../../core/base/files/key-file.ts'
import type { SettingRows } from '../../core/base/settings.ts'
import type { OwnTable } from '../../core/catalog/own-tables.ts'
import type { CommandIo } from './command-io.ts'

/** What core and all features declare, for commands that work without a service. */
export interface Declared {
  settings(): Promise<SettingRows>
  tables(): Promise<readonly OwnTable[]>
  readonly keyFiles: readonly KeyFile[]
}

export type DefineCommand = (command: Command, io: CommandIo, declared: Declared) => void

/** A command, as the help lists it. Its code is imported when somebody uses it. */
export interface CommandManifest {
  readonly name: string
  readonly description: string
  /** The command before it in the help. */
  readonly after: string
  load(): Promise<DefineCommand>
}
