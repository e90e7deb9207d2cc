import type { Command } from 'commander'
import { addExamples, addServiceAction, addServiceCommand, addServiceOptions } from '../command.ts'
import type { CommandIo } from '../command-io.ts'
import type { CopyOptions, ImportOptions, RestoreOptions } from './data-actions.ts'

const backupHelp = `
The backup contains everything the service stores at one moment: entries, endpoints with their versions, tokens, and the
admin token and the key of webhooks if the service created them. Requests and logs are served meanwhile. Keep the backup as secret as the service.

The directory must be new or empty. It appears only after the backup is complete and on disk.
`

const restoreHelp = `
Creates a new data directory from a backup and never overwrites anything. Every file is compared with its checksum. Then
the engine opens the data and counts the rows of every table. The directory appears only if all of this succeeds. A failed
restore leaves nothing behind and says what to do next.

A backup has what was erased after it was taken. With --erasures, the service erases it again, hidden before it is ready. One of
the two options is required if the backup itself lists erasures.
`

const copyHelp = `
Moves an installation from the embedded engine to a ClickHouse server or cluster: entries, endpoints with their versions,
sources, tokens, saved searches, idempotency keys and statistics. The data directory is only read. Stop its service first.
The database on the server must be empty; it is created if it does not exist.

At the end, both sides are compared by the number and the content of all rows. Services refuse to start on the server
before that. After an interruption, drop the database on the server, then copy again.

The admin token and the key of webhooks are not copied. Start the service with the same data directory, or set
WELLHEAD_ADMIN_TOKEN and WELLHEAD_ALERT_KEY. User, password,
database and cluster of the server are the settings of serve: WELLHEAD_CLICKHOUSE_USER and so on.
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
      (await import('./data-actions.ts')).backUp(directory, json, client, io),
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
Reads the tables _analytics.log_events_… of a self-hosted Supabase and sends their entries to a service, oldest first.
Postgres is only read. A temporary engine copies each table first, so the command needs free disk space.

After an interruption, run the same command again. Entries that are already stored are not stored twice if the second
run is within a day and uses the same token. Entries that are older than the retention of their source are rejected.
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
      (await import('./data-actions.ts')).importLogflare(client, options, io),
  })
}
