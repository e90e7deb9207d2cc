import type { Command } from 'commander'
import { addExamples, addServiceAction, addServiceCommand, addServiceOptions } from '../command.ts'
import type { CommandIo } from '../command-io.ts'
import type { CopyOptions, ImportOptions, RestoreOptions } from './data-actions.ts'

const backupHelp = `
The directory must be new or empty, and appears when the backup is complete. Requests and logs are served meanwhile. Keep
the backup as secret as the service: it has the admin token and the key of webhooks if the service created them.
`

const restoreHelp = `
Checks every file and every table, never overwrites anything, and leaves nothing behind if it fails. A backup has what was
erased after it was taken; with --erasures, the service erases it again before it is ready. If the backup itself lists
erasures, one of the two options is required.
`

const copyHelp = `
Stop the service first; the data directory is only read. The database on the server must be empty, and is compared at the
end. After an interruption, drop it, then copy again. The admin token and the key of webhooks are not copied: start the
service with the same data directory, or set WELLHEAD_ADMIN_TOKEN and WELLHEAD_ALERT_KEY. User, password, database and
cluster of the server are the settings of serve.
`

/** The actions are imported on demand: they load the engine, which other commands do not need. */
export function defineBackup(backup: Command, io: CommandIo): void {
  addServiceOptions(backup)
    .argument('<directory>', 'new directory for the backup')
    .option('--json', 'print the manifest as JSON')
    .addHelpText('after', backupHelp)
  addServiceAction(backup, io, {
    examples: ['wellhead backup backups/$(date +%F)'],
    request: async (client, directory: string, { json }: { json?: true }) =>
      (await import('./data-actions.ts')).backUp(client, directory, json),
  })
}

export function defineRestore(restore: Command, io: CommandIo): void {
  restore
    .argument('<directory>', 'backup directory')
    .requiredOption('--data-dir <directory>', 'new data directory')
    .option('--erasures <file>', 'erasures.jsonl of the original data directory')
    .option('--no-erasures', 'restore without it, although entries were erased before')
    .option('--no-open', 'do not open the data with the engine to count its rows')
    .option('--json', 'print the manifest as JSON')
    .addHelpText('after', restoreHelp)
    .action(async (directory: string, options: RestoreOptions) =>
      (await import('./data-actions.ts')).restore(directory, options, io),
    )
  addExamples(restore, 'wellhead restore backups/2026-01-31 --data-dir ./restored')
}

export function defineCopy(copy: Command, io: CommandIo): void {
  copy
    .requiredOption('--from <directory>', 'data directory of a stopped service')
    .option('--to <url>', 'ClickHouse server or nodes, as for serve (default: WELLHEAD_CLICKHOUSE_URL)')
    .option('--json', 'print JSON')
    .addHelpText('after', copyHelp)
    .action(async (options: CopyOptions) => (await import('./data-actions.ts')).copyToServer(options, io))
  addExamples(copy, 'wellhead copy --from ./data --to https://wellhead@clickhouse.example.com:8443')
}

const help = `
Sends the entries to a service, oldest first. Postgres is only read; a temporary engine copies each table, which needs free
disk space. After an interruption, run the same command again: within a day and with the same token, nothing is stored
twice.
`

export function defineImport(parent: Command, io: CommandIo): void {
  const logflare = addServiceCommand(parent, 'logflare', 'import the logs that Logflare stored in Postgres')
    .option('--postgres-url <url>', 'database of Logflare (default: POSTGRES_BACKEND_URL)')
    .option('--schema <name>', 'schema of its tables', '_analytics')
    .option('--json', 'print the counts as JSON')
    .addHelpText('after', help)
  addServiceAction(logflare, io, {
    examples: [
      'wellhead import logflare --postgres-url postgres://supabase_admin:secret@localhost:5432/_supabase',
    ],
    request: async (client, options: ImportOptions) =>
      (await import('./data-actions.ts')).importLogflare(client, options),
  })
}
