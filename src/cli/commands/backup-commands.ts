import type { Command } from 'commander'
import type { CommandIo } from '../command-io.ts'
import type { ServiceChoice } from '../find-service.ts'
import { addExamples } from '../help.ts'
import { addServiceOptions } from '../service-client.ts'
import type { RestoreChoice } from './backup-actions.ts'

const backupHelp = `
Everything the service keeps, as it is at one moment, while calls and logs go on: entries, endpoints with their
versions, tokens, and the admin token if the service made it. Keep it as secret as the service itself.

The directory must be new or empty. It is there only when the backup is whole and on disk.
`

const restoreHelp = `
Creates a new data directory from a backup. No service runs on it meanwhile, and nothing is overwritten. Every file is
compared with its checksum, and then the engine opens the data and counts the rows of every table. The directory is there
only if all of that succeeds. A restore that fails leaves nothing, and says what to do next.
`

/** What they need of the engine is loaded when they run, not for every other command. */
export function addBackupCommands(program: Command, io: CommandIo): void {
  const backup = addServiceOptions(
    program
      .command('backup')
      .description('take a backup of a service that runs')
      .argument('<directory>', 'new directory for the backup'),
  )
    .option('--json', 'print what was backed up as JSON')
    .addHelpText('after', backupHelp)
    .action(async (directory: string, choice: ServiceChoice & { json?: boolean }) => {
      const { backUp } = await import('./backup-actions.ts')
      return backUp(directory, choice, io)
    })
  addExamples(backup, 'wellhead backup backups/$(date +%F)')
  const restoring = program
    .command('restore')
    .description('create a data directory from a backup')
    .argument('<directory>', 'directory of the backup')
    .requiredOption('--data-dir <directory>', 'new data directory')
    .option('--no-open', 'do not open the data with the engine to count its rows')
    .option('--json', 'print what was restored as JSON')
    .addHelpText('after', restoreHelp)
    .action(async (directory: string, choice: RestoreChoice) => {
      const { restore } = await import('./backup-actions.ts')
      return restore(directory, choice, io)
    })
  addExamples(restoring, 'wellhead restore backups/2026-01-31 --data-dir ./restored')
}
