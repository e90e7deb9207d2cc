import type { Command } from 'commander'
import type { SettingRows } from '../../core/base/settings.ts'
import type { CommandIo } from './command-io.ts'

/** Loads the settings of core and of all features. */
export type LoadSettings = () => Promise<SettingRows>

export type DefineCommand = (command: Command, io: CommandIo, loadSettings: LoadSettings) => void

/** A command, as the help lists it. Its code is imported when somebody uses it. */
export interface CommandManifest {
  readonly name: string
  readonly description: string
  /** The command before it in the help. */
  readonly after: string
  load(): Promise<DefineCommand>
}
