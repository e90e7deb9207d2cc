import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { parse } from 'yaml'
import { batchKeys, gatherBatches, sendBatch } from '../../cli/kit/logs/log-batches.ts'
import { apiPath, type ServiceClient } from '../../cli/kit/service-client.ts'
import { packageFile } from '../../core/base/package-file.ts'
import { readDefinitions } from '../../core/endpoints/definition/definition-file.ts'
import { demoPage } from './demo-page.ts'
import { customerRequests, type DemoSource, demoSources, demoTraffic } from './traffic.ts'
import { projects } from './world.ts'

interface DemoOptions {
  client: ServiceClient
  now: () => number
  signal: AbortSignal
  historyMs: number
  /** Sets the time at which usage of what is sent counts. Undefined: when it arrives. */
  countUsageAt: (ms: number | undefined) => void
  /** Called when the history is complete, with the number of entries that were sent. */
  onFilled: (entries: number) => void
}

const dayMs = 86_400_000
const livePauseMs = 1_000
const requestPauseMs = 400
const batchBounds = { maxBytes: 6 * 2 ** 20, maxEntries: 10_000 }

/** Sends history through the API, then live traffic and requests of customers. Resolves when it is stopped. */
export async function runDemo(options: DemoOptions): Promise<void> {
  await sendAll(options).catch((error) => {
    if (!options.signal.aborted) throw error
  })
}

async function sendAll(options: DemoOptions): Promise<void> {
  const { client, now, signal, historyMs, countUsageAt, onFilled } = options
  const { folder, name } = demoPage
  const file = readFileSync(packageFile(`shipped/demo/${folder}/${name}.yaml`), 'utf8')
  const endpoints = readDefinitions(packageFile('shipped/demo'))
  const page = { [folder]: [{ ...parse(file), name }] }
  await client.request('POST', '/api/deployments', { json: { endpoints, ...page, allow_breaking: true } })
  const reached = new Map<DemoSource, number>()
  const sendTo = async (source: DemoSource, untilMs = now()): Promise<number> => {
    const afterMs = Math.max(
      now() - historyMs,
      reached.get(source) ?? (await newestOf(options.client, source)),
    )
    const sent = await send(options, source, { afterMs, untilMs })
    reached.set(source, Math.max(afterMs, untilMs))
    return sent
  }
  let filled = 0
  try {
    for (const endMs of dayEnds(now() - historyMs, now())) {
      countUsageAt(endMs)
      for (const source of demoSources) filled += await sendTo(source, endMs)
    }
  } finally {
    countUsageAt(undefined)
  }
  for (const source of demoSources) filled += await sendTo(source)
  onFilled(filled)
  if (signal.aborted) return
  const sendNew = async () => {
    // Entries that cannot be sent are sent with the next ones.
    for (const source of demoSources) await sendTo(source).catch(() => {})
  }
  await Promise.all([repeat(livePauseMs, signal, sendNew), requestAsCustomers(options)])
}

/** The last millisecond of each UTC day that ended between two instants. */
function dayEnds(afterMs: number, untilMs: number): number[] {
  const days = Math.floor(untilMs / dayMs) - Math.floor(afterMs / dayMs)
  return Array.from({ length: days }, (_, index) => (Math.floor(afterMs / dayMs) + 1 + index) * dayMs - 1)
}

async function repeat(everyMs: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await pause(everyMs, undefined, { signal }).catch(() => {})
    if (!signal.aborted) await work()
  }
}

/** Requests the endpoints with a token of each project, as the customers of a platform do. */
async function requestAsCustomers({ client, now, signal }: DemoOptions): Promise<void> {
  const tokens = new Map<string, string>()
  const known = await client.json<{ id: string; description: string }[]>('GET', '/api/access-tokens')
  for (const { ref: project } of projects) {
    const description = `Demo customer ${project}`
    const id = known.find((token) => token.description === description)?.id
    const json = id === undefined ? { description, project, scopes: ['query'] } : {}
    // A restarted demo does not know the secret of its tokens.
    const path = id === undefined ? '/api/access-tokens' : apiPath('access-tokens', id, 'rotate')
    tokens.set(project, (await client.json<{ token: string }>('POST', path, { json })).token)
  }
  const requests = customerRequests(now())
  await repeat(requestPauseMs, signal, async () => {
    const { project, path } = requests.next().value as { project: string; path: string }
    const headers = { 'X-API-KEY': tokens.get(project) ?? '' }
    // Some are refused on purpose.
    await fetch(`${client.url}${path}`, { headers, signal }).then(
      (response) => response.text(),
      () => {},
    )
  })
}

/** Sends the oldest entries first, so that an interrupted run leaves no gap. */
async function send(
  { client, signal }: DemoOptions,
  source: DemoSource,
  span: Parameters<typeof demoTraffic>[1],
): Promise<number> {
  const keyOf = batchKeys(source)
  async function* entries() {
    for (const { entry } of demoTraffic(source, span)) {
      yield { text: JSON.stringify(entry), line: 0 }
    }
  }
  let sent = 0
  for await (const piece of gatherBatches(entries(), batchBounds)) {
    if (!('batch' in piece)) continue
    const wait = (ms: number) => pause(ms, undefined, { signal })
    await sendBatch(piece.batch, keyOf(piece.batch), { client, source, pause: wait })
    sent += piece.batch.lines.length
  }
  return sent
}

async function newestOf(client: ServiceClient, source: DemoSource): Promise<number> {
  const ours = new Set(projects.map(({ ref }) => ref))
  const path = apiPath('sources', source, 'recent')
  const query = { limit: '1000' }
  const recent = await client.json<{ project: string; timestamp: number }[]>('GET', path, { query })
  const newest = recent.find(({ project }) => ours.has(project))
  return (newest?.timestamp ?? 0) / 1000
}
