import type { Command } from 'commander'
import type { CommandIo } from '../command-io.ts'
import { addServiceAction, addServiceCommand } from '../service-command.ts'
import type { ImportOptions } from './import-action.ts'

const help = `
Reads the tables _analytics.log_events_… of a self-hosted Supabase and sends their entries to a service, oldest first.
Postgres is only read. A temporary engine copies each table first, so the command needs free disk space.

After an interruption, run the same command again. Entries that are already stored are not stored twice if the second
run is within a day and uses the same token. Entries that are older than the retention of their source are rejected.
`

/** The action is imported on demand: it loads the engine. */
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
      (await import('./import-action.ts')).importLogflare(client, options, io),
  })
}
