import { setTimeout as pause } from 'node:timers/promises'
import { type DemoSource, demoSources, demoTraffic } from '../../demo/traffic.ts'
import { projects } from '../../demo/world.ts'
import { batchKeys, gatherBatches } from '../logs/log-batches.ts'
import { sendBatch } from '../logs/send-batch.ts'
import { listOf, type ServiceClient } from '../service-client.ts'

interface DemoOptions {
  client: ServiceClient
  now: () => number
  signal: AbortSignal
  historyMs: number
  /** Called when the history is complete, with the number of entries that were sent. */
  onFilled: (entries: number) => void
}

const recentResponse = listOf<{ project: string; timestamp: number }>('project', 'timestamp')

const livePauseMs = 1_000
const batchBounds = { maxBytes: 6 * 2 ** 20, maxEntries: 10_000 }

/** Sends history through the API, then live traffic until it is stopped. */
export async function runDemo(options: DemoOptions): Promise<void> {
  const { now, signal, historyMs, onFilled } = options
  const reached = new Map<DemoSource, number>()
  const sendTo = async (source: DemoSource): Promise<number> => {
    const nowMs = now()
    const afterMs = Math.max(
      nowMs - historyMs,
      reached.get(source) ?? (await newestOf(options.client, source)),
    )
    const sent = await send(options, source, { afterMs, untilMs: nowMs })
    reached.set(source, nowMs)
    return sent
  }
  let filled = 0
  for (const source of demoSources) filled += await sendTo(source)
  onFilled(filled)
  while (!signal.aborted) {
    await pause(livePauseMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    // Entries that cannot be sent are sent with the next ones.
    for (const source of demoSources) await sendTo(source).catch(() => {})
  }
}

/** Sends the oldest entries first, so that an interrupted run leaves no gap. */
async function send(
  { client, signal }: DemoOptions,
  source: DemoSource,
  span: Parameters<typeof demoTraffic>[1],
): Promise<number> {
  const keyOf = await batchKeys(source)
  async function* entries() {
    for (const { entry } of demoTraffic(source, span)) {
      yield { text: Buffer.from(JSON.stringify(entry)), line: 0 }
    }
  }
  let sent = 0
  for await (const piece of gatherBatches({ kind: 'entries', entries: entries() }, batchBounds)) {
    if (!('batch' in piece)) continue
    await sendBatch(piece.batch, keyOf(piece.batch), {
      client,
      source,
      pause: (ms) => pause(ms, undefined, { signal }),
      onWait: () => {},
      maxAttempts: 8,
      wasReached: true,
    })
    sent += piece.batch.lines.length
  }
  return sent
}

/** Time of the newest entry that an earlier run has sent. */
async function newestOf(client: ServiceClient, source: DemoSource): Promise<number> {
  const ours = new Set(projects.map(({ ref }) => ref))
  const path = `/api/sources/${source}/recent`
  const recent = await client.json('GET', path, recentResponse, { query: { limit: '1000' } })
  const newest = recent.find(({ project }) => ours.has(project))
  return (newest?.timestamp ?? 0) / 1000
}
