import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import type { CommandIo } from '../command-io.ts'
import type { ServiceChoice } from '../find-service.ts'
import { addExamples } from '../help.ts'
import { readEventStream, type StreamEvent } from '../logs/event-stream-reader.ts'
import { plural } from '../output/format-amount.ts'
import { visible } from '../output/text-width.ts'
import { addServiceOptions, connect, type ServiceClient, ServiceFailure, strange } from '../service-client.ts'

interface TailOptions extends ServiceChoice {
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
/** A service says something every 15 s; one that says nothing for so long is gone. */
const silenceMs = 45_000

export function addLogsTailCommand(logs: Command, io: CommandIo): void {
  const tail = addServiceOptions(logs.command('tail').description('show entries as they are stored'))
  tail
    .requiredOption('--source <name>', 'the source to follow')
    .option('--project <project>', 'only entries of this project')
    .option('--text <text>', 'only entries whose message holds this, in letters of any case')
    .option('--json', 'a line of JSON for each entry, as where the output is no terminal')
    .action((options: TailOptions) => {
      const client = connect(options, io)
      return tailSource(client, options, io, (ms) => delay(ms, undefined, { signal: io.signal }))
    })
  tail.addHelpText(
    'after',
    '\nA connection that breaks is made again, and goes on where it was as long as the service knows the place. What\n' +
      'was missed is told on standard error. Ctrl-C ends it.\n',
  )
  addExamples(
    tail,
    'wellhead logs tail --source edge_logs --text /rest/v1',
    'wellhead logs tail --source edge_logs --project demo | jq .metadata',
  )
}

/** Follows a source until somebody stops it, or the service refuses. */
export async function tailSource(
  client: Pick<ServiceClient, 'request' | 'url'>,
  options: Pick<TailOptions, 'source' | 'project' | 'text' | 'json'>,
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
  for (let failures = 0, known = false; !io.signal.aborted; ) {
    const broken = await follow().catch((error: unknown) => {
      if (io.signal.aborted) return ''
      if (!known || !isPassing(error)) throw error
      return (error as Error).message
    })
    if (io.signal.aborted) return
    failures++
    if (failures === 1) await io.stderr.write(`${broken} Connecting again.\n`)
    await pause(Math.min(longestPauseMs, retryMs * 2 ** Math.min(failures - 1, 10))).catch(() => {})

    async function follow(): Promise<string> {
      const response = await client.request('GET', path, {
        query,
        headers: { Accept: 'text/event-stream', ...(lastId !== undefined && { 'Last-Event-ID': lastId }) },
      })
      // A page of something else would be read as a stream without events, again and again.
      if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
        await response.body?.cancel()
        throw strange(client.url, response.status, 'the answer is not a stream of events')
      }
      known = true
      const chunks = response.body as AsyncIterable<Uint8Array> | null
      for await (const event of readEventStream(notSilent(chunks ?? noChunks(), silenceMs))) {
        failures = 0
        lastId = event.id ?? lastId
        retryMs = event.retryMs ?? retryMs
        await show(event, asJson, io)
      }
      return 'The service ended the stream.'
    }
  }
}

/** Whether the same may work a little later. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof ServiceFailure)) return true
  return error.status === 0 || error.status === 429 || error.status >= 500
}

async function show({ event, data }: StreamEvent, asJson: boolean, io: CommandIo): Promise<void> {
  switch (event) {
    case 'entry':
      return io.stdout.write(`${asJson ? data : lineOf(JSON.parse(data), io)}\n`)
    case 'missed': {
      const { count } = JSON.parse(data) as { count: number }
      return io.stderr.write(
        `${plural(count, 'entry', 'entries')} came faster than they were read and are not shown.\n`,
      )
    }
    case 'reset':
      return io.stderr.write(
        'Entries may be missing here: the service no longer knows where this left off.\n',
      )
  }
}

/** For people: when, whose, and what. */
function lineOf({ timestamp, project, event_message, metadata }: TailedEntry, io: CommandIo): string {
  const { colors } = io.stdout
  const text = event_message === '' ? colors.dim(visible(JSON.stringify(metadata))) : visible(event_message)
  const whose = project === '' ? [] : [colors.cyan(visible(project))]
  return [colors.dim(new Date(timestamp / 1000).toISOString()), ...whose, text].join('  ')
}

async function* noChunks(): AsyncGenerator<Uint8Array> {}

/** Ends in an error when nothing comes for so long. */
async function* notSilent(chunks: AsyncIterable<Uint8Array>, ms: number): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]()
  try {
    while (true) {
      const quiet = new AbortController()
      const silence = delay(ms, 'silent' as const, { signal: quiet.signal, ref: false })
      const next = await Promise.race([iterator.next(), silence]).finally(() => {
        silence.catch(() => {})
        quiet.abort()
      })
      if (next === 'silent') throw new Error('The service has fallen silent.')
      if (next.done) return
      yield next.value
    }
  } finally {
    void iterator.return?.()?.catch(() => {})
  }
}
