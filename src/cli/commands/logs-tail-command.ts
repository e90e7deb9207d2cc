import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import type { CommandIo } from '../command-io.ts'
import { readEventStream, type StreamEvent } from '../logs/event-stream-reader.ts'
import { plural } from '../output/format-amount.ts'
import { visible } from '../output/visible.ts'
import { type ServiceClient, ServiceFailure, unexpectedResponse } from '../service-client.ts'
import { addServiceAction, addServiceCommand } from '../service-command.ts'

interface TailOptions {
  source: string
  project?: string
  text?: string
  json?: true
}

interface TailedEntry {
  timestamp: number
  project: string
  event_message: string
  metadata: object
}

const longestPauseMs = 30_000
/** The service sends a heartbeat every 15 s. */
const maxSilenceMs = 45_000

const tailHelp = `
A lost connection is reopened and resumes at the last entry if the service still has it. Missed entries are reported on
standard error. Stop with Ctrl-C.
`

export function addLogsTailCommand(logs: Command, io: CommandIo): void {
  const tail = addServiceCommand(logs, 'tail', 'show new entries as they are stored')
    .requiredOption('--source <name>', 'source to follow')
    .option('--project <project>', 'only entries of this project')
    .option('--text <text>', 'only entries whose message contains this text, ignoring case')
    .option('--json', 'print one JSON object per line (the default if the output is not a terminal)')
    .addHelpText('after', tailHelp)
  addServiceAction(tail, io, {
    examples: [
      'wellhead logs tail --source edge_logs --text /rest/v1',
      'wellhead logs tail --source edge_logs --project demo | jq .metadata',
    ],
    request: (client, options: TailOptions) =>
      tailSource(client, options, io, (ms) => delay(ms, undefined, { signal: io.signal })),
  })
}

/** Follows a source until the command is stopped or the service rejects the request. */
export async function tailSource(
  client: Pick<ServiceClient, 'request' | 'url'>,
  options: TailOptions,
  io: CommandIo,
  pause: (ms: number) => Promise<void>,
): Promise<void> {
  const asJson = options.json === true || !io.stdout.isTerminal
  const query = {
    ...(options.project !== undefined && { project: options.project }),
    ...(options.text !== undefined && { text: options.text }),
  }
  const path = `/api/sources/${encodeURIComponent(options.source)}/tail`
  let lastId: string | undefined
  let retryMs = 2_000
  for (let failures = 0, wasReached = false; !io.signal.aborted; ) {
    const problem = await follow().catch((error: unknown) => {
      if (io.signal.aborted) return ''
      if (!wasReached || !isTemporary(error)) throw error
      return (error as Error).message
    })
    if (io.signal.aborted) return
    failures++
    if (failures === 1) await io.stderr.write(`${problem} Reconnecting.\n`)
    await pause(Math.min(longestPauseMs, retryMs * 2 ** Math.min(failures - 1, 10))).catch(() => {})

    async function follow(): Promise<string> {
      const response = await client.request('GET', path, {
        query,
        headers: { Accept: 'text/event-stream', ...(lastId !== undefined && { 'Last-Event-ID': lastId }) },
      })
      // Another program's page would look like a stream without events.
      if (!response.headers.get('content-type')?.startsWith('text/event-stream') || !response.body) {
        await response.body?.cancel()
        throw unexpectedResponse(client.url, response.status, 'the body is not an event stream')
      }
      wasReached = true
      for await (const event of readEventStream(withTimeout(response.body as ReadableStream, maxSilenceMs))) {
        failures = 0
        lastId = event.id ?? lastId
        retryMs = event.retryMs ?? retryMs
        await printEvent(event, asJson, io)
      }
      return 'The service ended the stream.'
    }
  }
}

function isTemporary(error: unknown): boolean {
  if (!(error instanceof ServiceFailure)) return true
  return error.status === 0 || error.status === 429 || error.status >= 500
}

async function printEvent({ event, data }: StreamEvent, asJson: boolean, io: CommandIo): Promise<void> {
  switch (event) {
    case 'entry':
      return io.stdout.write(`${asJson ? data : entryText(JSON.parse(data), io)}\n`)
    case 'missed': {
      const { count } = JSON.parse(data) as { count: number }
      const missed = plural(count, 'entry', 'entries')
      return io.stderr.write(`Skipped ${missed} that arrived faster than they were read.\n`)
    }
    case 'reset':
      return io.stderr.write('Entries may be missing here: the service cannot resume at the last entry.\n')
  }
}

function entryText({ timestamp, project, event_message, metadata }: TailedEntry, io: CommandIo): string {
  const { colors } = io.stdout
  const text = event_message === '' ? colors.dim(visible(JSON.stringify(metadata))) : visible(event_message)
  const projects = project === '' ? [] : [colors.cyan(visible(project))]
  return [colors.dim(new Date(timestamp / 1000).toISOString()), ...projects, text].join('  ')
}

/** Fails if the service sends nothing for this long. Time during which the output is blocked, as by a pager, does not count. */
export async function* withTimeout(body: ReadableStream, maxSilenceMs: number): AsyncGenerator<Uint8Array> {
  const stream = Readable.fromWeb(body)
  const silent = () => stream.destroy(new Error('The service stopped sending heartbeats.'))
  let timer = setTimeout(silent, maxSilenceMs).unref()
  try {
    for await (const chunk of stream) {
      clearTimeout(timer)
      yield chunk
      timer = setTimeout(silent, maxSilenceMs).unref()
    }
  } finally {
    clearTimeout(timer)
  }
}
