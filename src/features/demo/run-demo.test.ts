import { expect, test } from 'vitest'
import type { ServiceClient, ServiceRequest } from '../../cli/kit/service-client.ts'
import { runDemo } from './run-demo.ts'
import { demoSources } from './traffic.ts'

/** Stores entries by source and returns the newest; fails after a number of requests. */
function memoryService(
  maxRequests = Number.POSITIVE_INFINITY,
  onSent: (timestampsMs: number[]) => void = () => {},
) {
  const stored = new Map<string, { id: string; timestamp: number; project: string }[]>()
  let left = maxRequests
  const of = (source: string) => stored.get(source) ?? []
  const json = async (method: string, path: string, request: ServiceRequest = {}) => {
    if (method === 'GET') {
      const source = path.split('/')[3] as string
      return of(source).toReversed().slice(0, Number(request.query?.limit))
    }
    if (left-- <= 0) throw new Error('The service has stopped.')
    const entries = String(request.body)
      .trim()
      .split('\n')
      .map((line) => {
        const { metadata, project = metadata.project_ref ?? metadata.project, ...rest } = JSON.parse(line)
        return { ...rest, project }
      })
    const source = request.query?.source as string
    onSent(entries.map(({ timestamp }) => timestamp / 1000))
    stored.set(source, [...of(source), ...entries])
    return { accepted: entries.length, rejected: 0, errors: [] }
  }
  const client = {
    json,
    request: async (...request: Parameters<typeof json>) =>
      request[1] === '/api/logs' ? Response.json(await json(...request)) : undefined,
    read: async (response: Response) => Buffer.from(await response.arrayBuffer()),
    parse: (body: Buffer) => JSON.parse(body.toString()),
  } as unknown as ServiceClient
  return { client, of, allow: (requests: number) => (left = requests) }
}

async function fill(
  client: ServiceClient,
  nowMs: number,
  { historyMs = 8 * hourMs, countUsageAt = (_: number | undefined) => {} } = {},
): Promise<number> {
  const stop = new AbortController()
  let filled = 0
  const onFilled = (entries: number) => {
    filled = entries
    stop.abort()
  }
  await runDemo({ client, now: () => nowMs, signal: stop.signal, historyMs, countUsageAt, onFilled })
  return filled
}

const nowMs = Date.UTC(2026, 10, 15, 9, 17, 23)
const hourMs = 3_600_000

test('a second run sends only newer entries, and none twice', async () => {
  const service = memoryService()
  const first = await fill(service.client, nowMs)
  expect(first).toBeGreaterThan(500)
  expect(await fill(service.client, nowMs)).toBe(0)
  const second = await fill(service.client, nowMs + 2 * hourMs)
  expect(second).toBeGreaterThan(100)
  expect(second).toBeLessThan(2_000)
  for (const source of demoSources) {
    const ids = service.of(source).map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  }
})

test('a run after an interrupted one completes the history without a gap', async () => {
  const whole = memoryService()
  await fill(whole.client, nowMs)
  const broken = memoryService(4)
  await expect(fill(broken.client, nowMs)).rejects.toThrow('The service has stopped.')
  broken.allow(Number.POSITIVE_INFINITY)
  await fill(broken.client, nowMs)
  for (const source of demoSources) expect(broken.of(source).length).toBe(whole.of(source).length)
})

test('entries of past days count on their days, and those of today when they arrive', async () => {
  const today = dayOf(nowMs)
  const sentAt: (number | undefined)[] = []
  let countedAt: number | undefined
  const service = memoryService(Number.POSITIVE_INFINITY, (timestamps) => {
    const countedMs = countedAt ?? nowMs
    sentAt.push(countedAt)
    expect(new Set(timestamps.map(dayOf))).toEqual(new Set([dayOf(countedMs)]))
  })
  await fill(service.client, nowMs, {
    historyMs: 52 * hourMs,
    countUsageAt: (ms) => {
      countedAt = ms
    },
  })
  expect(new Set(sentAt.map((ms) => ms && dayOf(ms)))).toEqual(new Set([today - 2, today - 1, undefined]))
  expect(countedAt).toBe(undefined)
})

const dayOf = (ms: number) => Math.floor(ms / (24 * hourMs))
