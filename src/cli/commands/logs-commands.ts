import type { Command } from 'commander'
import { instant, wholeNumber } from '../arguments.ts'
import { CommandFailure, usageFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { addExamples } from '../help.ts'
import { findInputs } from '../logs/log-input.ts'
import { entryText, queryArgument, searchEntries } from '../logs/search-entries.ts'
import { batchBounds, type SentInputs, sendInputs, summary } from '../logs/send-inputs.ts'
import { printJson } from '../output/print.ts'
import { apiPath, objectWith } from '../service-client.ts'
import { addServiceAction, addServiceCommand } from '../service-command.ts'
import { addLogsTailCommand } from './logs-tail-command.ts'

const sendHelp = `
After an interruption, run the same command again. Entries that are already stored are not stored twice if the second
run is within a day and uses the same token. To store the same input twice on purpose, use --again. Rejected entries are
listed with their line, and the exit code is 1.
`

export function defineLogs(logs: Command, io: CommandIo): void {
  addExamples(
    logs,
    'wellhead logs send access.ndjson.gz --source edge_logs',
    'wellhead logs search edge_logs timeout --since 12h',
    'wellhead logs tail edge_logs -n 20',
  )

  const description = 'send entries from files or standard input: NDJSON, plain or gzip'
  const send = addServiceCommand(logs, 'send', description)
    .argument('[files...]', 'files; "-" or none reads standard input')
    .requiredOption('--source <name>', 'source that stores the entries')
    .option(
      '--batch-entries <n>',
      'maximum entries per request; use the same value when sending again',
      wholeNumber(1, batchBounds.maxEntries),
      batchBounds.maxEntries,
    )
    .option('--again', 'store the entries even if the same input was sent within the last day')
    .option('--json', 'print the counts as JSON')
    .addHelpText('after', sendHelp)
  addServiceAction(send, io, {
    examples: [
      'wellhead logs send access.ndjson.gz errors.ndjson --source edge_logs',
      'zstdcat old.ndjson.zst | wellhead logs send --source edge_logs',
    ],
    request: async (client, files: string[], options: SentInputs & { json?: true }) => {
      if (files.length === 0 && io.stdinIsTerminal) {
        throw usageFailure('There is nothing to send. Name files, or pipe entries to standard input.')
      }
      const inputs = await findInputs(files.length === 0 ? ['-'] : files, io)
      // A missing token fails before the input is read.
      client.find()
      const tally = await sendInputs(inputs, options, client, io)
      if (options.json) await printJson(io, tally)
      const isRepeated = tally.already_stored > 0 && tally.already_stored === tally.accepted
      const hint = isRepeated ? ' Use --again to store the same entries twice.' : ''
      await io.stderr.write(`${summary(tally)}${hint}\n`)
      if (tally.rejected > 0) throw new CommandFailure('')
    },
  })
  addLogsSearchCommand(logs, io)
  addLogsTailCommand(logs, io)
}

interface SearchOptions {
  project?: string
  since?: string
  to?: string
  limit: number
  json?: true
}

/** They say why a search finds nothing. */
const readNotes = objectWith<{ notes: string[] }>('notes')

function addLogsSearchCommand(logs: Command, io: CommandIo): void {
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
