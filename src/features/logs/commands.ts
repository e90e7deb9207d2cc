import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import {
  addExamples,
  addServiceAction,
  addServiceCommand,
  instant,
  wholeNumber,
} from '../../cli/kit/command.ts'
import { CommandFailure, type CommandIo, usageFailure } from '../../cli/kit/command-io.ts'
import { findInputs } from '../../cli/kit/logs/log-input.ts'
import {
  entryText,
  type LoggedEntry,
  newestEntries,
  queryArgument,
  searchEntries,
} from '../../cli/kit/logs/search-entries.ts'
import {
  batchBounds,
  projectWarning,
  type SentInputs,
  sendInputs,
  summary,
} from '../../cli/kit/logs/send-inputs.ts'
import { plural } from '../../cli/kit/output/format.ts'
import { printJson } from '../../cli/kit/output/print.ts'
import {
  apiPath,
  type ServiceClient,
  ServiceFailure,
  unexpectedResponse,
} from '../../cli/kit/service-client.ts'
import { eventsOf, type StreamEvent } from '../../shared/event-stream.ts'
import { isTemporary } from '../../shared/is-temporary.ts'

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
      const tally = await sendInputs(inputs, options, client)
      if (options.json) await printJson(io, tally)
      const isRepeated = tally.already_stored > 0 && tally.already_stored === tally.accepted
      const hint = isRepeated ? ' Use --again to store the same entries twice.' : ''
      await io.stderr.write(`${summary(tally)}${hint}\n${projectWarning(tally)}`)
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
        const json = { ...search, buckets: 1 }
        // They say why a search finds nothing.
        const { notes } = await client.json<{ notes: string[] }>('POST', path, { json })
        const lines = [`No entries match ${range}. Search further back with --since.`, ...notes]
        await io.stderr.write(`${lines.join('\n')}\n`)
      } else if (count === limit) {
        await io.stderr.write(`Showing the newest ${count}; there may be more. Raise --limit, or set --to.\n`)
      }
    },
  })
}

interface TailOptions {
  project?: string
  lines?: number
  json?: true
}

const longestPauseMs = 30_000
/** Larger than any event: an entry has at most 1 MiB. */
const maxEventLength = 8 * 2 ** 20

const tailHelp = `
A lost connection is reopened and resumes at the last entry if the service still has it. Missed entries are reported on
standard error. Stop with Ctrl-C.
`

function addLogsTailCommand(logs: Command, io: CommandIo): void {
  const tail = addServiceCommand(logs, 'tail', 'show new entries as they are stored')
    .argument('<source>', 'source to follow')
    .argument('[query...]', queryArgument)
    .option('-n, --lines <count>', 'first show this many of the newest entries', wholeNumber(0, 10_000))
    .option('--project <project>', 'only entries of this project')
    .option('--json', 'print one JSON object per line (the default if the output is not a terminal)')
    .addHelpText('after', tailHelp)
  addServiceAction(tail, io, {
    examples: [
      'wellhead logs tail edge_logs -n 20 /rest/v1',
      "wellhead logs tail edge_logs --project demo 'status:>=500 OR timeout'",
      'wellhead logs tail edge_logs --project demo | jq .metadata',
    ],
    request: (client, source: string, words: string[], options: TailOptions) => {
      const tailed = { ...options, source, query: words.join(' ').trim() }
      return tailSource(client, tailed, io, (ms) => delay(ms, undefined, { signal: io.signal }))
    },
  })
}

/** Follows a source until the command is stopped or the service rejects the request. */
export async function tailSource(
  client: Pick<ServiceClient, 'request' | 'read' | 'parse' | 'url'>,
  { source, query, project, lines = 0, json }: TailOptions & { source: string; query: string },
  io: CommandIo,
  pause: (ms: number) => Promise<void>,
): Promise<void> {
  const asJson = json === true || !io.stdout.isTerminal
  const filter = { ...(project !== undefined && { project }), ...(query !== '' && { query }) }
  const path = apiPath('sources', source, 'tail')
  /** Entries that the stream may repeat because they were stored while the newest ones were read. */
  const shown = new Set<string>()
  let missing = lines
  let lastId: string | undefined
  let retryMs = 2_000
  for (let failures = 0, wasReached = false; !io.signal.aborted; ) {
    const problem = await follow().catch((error: unknown) => {
      if (io.signal.aborted) return ''
      const isRefused = error instanceof ServiceFailure && !isTemporary(error.details.status)
      if (!wasReached || isRefused) throw error
      return (error as Error).message
    })
    if (io.signal.aborted) return
    failures++
    if (failures === 1) await io.stderr.write(`${problem} Reconnecting.\n`)
    await pause(Math.min(longestPauseMs, retryMs * 2 ** Math.min(failures - 1, 10))).catch(() => {})

    async function follow(): Promise<string> {
      const response = await client.request('GET', path, {
        query: filter,
        headers: { Accept: 'text/event-stream', ...(lastId !== undefined && { 'Last-Event-ID': lastId }) },
      })
      // Another program's page would look like a stream without events.
      if (!response.headers.get('content-type')?.startsWith('text/event-stream') || !response.body) {
        await response.body?.cancel()
        throw unexpectedResponse(client.url, response.status, 'the body is not an event stream')
      }
      wasReached = true
      // The stream is open, so it contains everything that this does not find.
      if (missing > 0) await showNewest().catch((error) => closed(response, error))
      for await (const events of eventsOf(response.body, maxEventLength)) {
        failures = 0
        for (const event of events) {
          lastId = event.id ?? lastId
          retryMs = event.retryMs ?? retryMs
          await printEvent(event)
        }
      }
      return 'The service ended the stream.'
    }
  }

  async function showNewest(): Promise<void> {
    for (const { entry, json } of await newestEntries(client, source, { project, query }, missing)) {
      shown.add(keyOf(entry))
      await io.stdout.write(`${asJson ? json : entryText(entry, io.stdout)}\n`)
    }
    missing = 0
  }

  async function printEvent({ event, data }: StreamEvent): Promise<void> {
    switch (event) {
      case 'entry': {
        if (asJson && shown.size === 0) return io.stdout.write(`${data}\n`)
        const entry = JSON.parse(data) as LoggedEntry
        if (shown.delete(keyOf(entry))) return
        return io.stdout.write(`${asJson ? data : entryText(entry, io.stdout)}\n`)
      }
      case 'missed': {
        const { count } = JSON.parse(data) as { count: number }
        return io.stderr.write(
          `Skipped ${plural(count, 'entry', 'entries')} that arrived faster than they were read.\n`,
        )
      }
      case 'reset':
        return io.stderr.write('Entries may be missing here: the service cannot resume at the last entry.\n')
    }
  }
}

function keyOf({ timestamp, id }: LoggedEntry): string {
  return `${timestamp} ${id}`
}

async function closed(response: Response, error: unknown): Promise<never> {
  await response.body?.cancel()
  throw error
}
