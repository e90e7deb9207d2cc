import type { Command } from 'commander'
import { instant, wholeNumber } from '../arguments.ts'
import type { CommandIo } from '../command-io.ts'
import { entryText, queryArgument, searchEntries } from '../logs/search-entries.ts'
import { apiPath, objectWith } from '../service-client.ts'
import { addServiceAction, addServiceCommand } from '../service-command.ts'

interface SearchOptions {
  project?: string
  since?: string
  to?: string
  limit: number
  json?: true
}

/** They say why a search finds nothing. */
const readNotes = objectWith<{ notes: string[] }>('notes')

export function addLogsSearchCommand(logs: Command, io: CommandIo): void {
  const time = instant(io.clock.now, 'past')
  const search = addServiceCommand(logs, 'search', 'show stored entries that match, newest first')
    .argument('<source>', 'source to search')
    .argument('[query...]', queryArgument)
    .option('--project <project>', 'only entries of this project')
    .option(
      '--since <time>',
      'start: a duration before now such as 30m, 12h or 7d, or ISO 8601 (default: 1h)',
      time,
    )
    .option('--to <time>', 'end, exclusive (default: none)', time)
    .option('-n, --limit <count>', 'maximum number of entries', wholeNumber(1, 10_000), 100)
    .option('--json', 'print one JSON object per line (the default if the output is not a terminal)')
  addServiceAction(search, io, {
    examples: [
      'wellhead logs search edge_logs timeout --since 12h',
      "wellhead logs search edge_logs 'status:>=500 (path:/rest/* OR path:/auth/*)'",
      "wellhead logs search edge_logs --project demo 'status:500 NOT region:eu'",
      'wellhead logs search edge_logs --since 2026-01-31T12:00:00Z --to 2026-01-31T13:00:00Z -n 1000 --json',
    ],
    request: async (client, source: string, words: string[], options: SearchOptions) => {
      const { project, since: from, to, limit } = options
      const query = words.join(' ').trim()
      const asJson = options.json === true || !io.stdout.isTerminal
      let count = 0
      const search = { project, from, to, query }
      for await (const { entry, json } of searchEntries(client, source, search, limit)) {
        count++
        await io.stdout.write(`${asJson ? json : entryText(entry, io.stdout)}\n`)
      }
      if (count === 0) {
        const range = from === undefined ? `in the hour before ${to ?? 'now'}` : 'in this time range'
        const path = apiPath('sources', source, 'histogram')
        const { notes } = await client.json('POST', path, readNotes, { json: { ...search, buckets: 1 } })
        const lines = [`No entries match ${range}. Search further back with --since.`, ...notes]
        await io.stderr.write(`${lines.join('\n')}\n`)
      } else if (count === limit) {
        await io.stderr.write(`Showing the newest ${count}; there may be more. Raise --limit, or set --to.\n`)
      }
    },
  })
}
