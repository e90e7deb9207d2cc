import type { Command } from 'commander'
import type { CommandIo } from '../command-io.ts'
import { addExamples } from '../help.ts'
import type { CopyOptions } from './copy-action.ts'

const copyHelp = `
Moves an installation from the embedded engine to a ClickHouse server or cluster: entries, endpoints with their versions,
sources, tokens, saved searches, idempotency keys and statistics. The data directory is only read. Stop its service first.
The database on the server must be empty; it is created if it does not exist.

An interrupted copy continues when the command is run again: days that are equal on both sides are skipped. At the end,
both sides are compared by the number and the content of all rows. Services refuse to start on the server before that.

The admin token is not copied. Start the service with the same data directory, or set WELLHEAD_ADMIN_TOKEN. Each flag for
the server can be set as a variable, as for serve: WELLHEAD_CLICKHOUSE_URL, WELLHEAD_CLICKHOUSE_PASSWORD and so on. Set the
password that way, because other users of a machine can see flags.
`

/** The action is imported on demand: it loads the engine. */
export function defineCopy(copy: Command, io: CommandIo): void {
  copy
    .requiredOption('--from <directory>', 'data directory of a stopped service')
    .option('--to <url>', 'ClickHouse server or nodes, as for serve (default: WELLHEAD_CLICKHOUSE_URL)')
    .option('--user <user>', 'user of the server')
    .option('--password <password>', 'password of that user')
    .option(
      '--database <database>',
      'database of the server, created if it does not exist (default: wellhead)',
    )
    .option('--cluster <cluster>', 'name of the cluster (default: a single server)')
    .option('--json', 'print JSON')
    .addHelpText('after', copyHelp)
    .action(async (options: CopyOptions) => (await import('./copy-action.ts')).copyToServer(options, io))
  addExamples(copy, 'wellhead copy --from ./data --to https://clickhouse.example.com:8443 --user wellhead')
}
