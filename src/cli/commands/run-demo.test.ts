import { expect, test } from 'vitest'
import { demoSources } from '../../demo/traffic.ts'
import type { ServiceClient, ServiceRequest } from '../service-client.ts'
import { runDemo } from './run-demo.ts'

interface Stored {
  id: string
  timestamp: number
  project: string
}

/** Keeps what is sent, by source, and shows the newest; refuses once the room for requests is used up. */
function memoryService(room = Number.POSITIVE_INFINITY) {
  const stored = new Map<string, Stored[]>()
  let left = room
  const of = (source: string) => stored.get(source) ?? []
  const json = async (
    method: string,
    path: string,
    _shape: unknown,
    request?: ServiceRequest,
  ): Promise<unknown> => {
    if (method === 'GET') {
      const source = path.split('/')[3] as string
      return of(source).toReversed().slice(0, Number(request?.query?.limit))
    }
    if (left-- <= 0) throw new Error('The service ended.')
    const entries = String(request?.body)
      .split('\n')
      .map((line) => JSON.parse(line))
      .map((entry) => ({
        ...entry,
        project: entry.project ?? entry.metadata.project_ref ?? entry.metadata.project,
      }))
    const source = request?.query?.source as string
    stored.set(source, [...of(source), ...entries])
    return { accepted: entries.length, rejected: 0, errors: [] }
  }
  const answer = async (...asked: Parameters<typeof json>) => ({
    body: await json(...asked),
    headers: new Headers(),
  })
  const client = { json, answer } as unknown as ServiceClient
  return { client, of, roomFor: (requests: number) => (left = requests) }
}

/** Until the history is there. */
async function fill(client: ServiceClient, nowMs: number): Promise<number> {
  const stop = new AbortController()
  let filled = 0
  const onFilled = (entries: number) => {
    filled = entries
    stop.abort()
  }
  await runDemo({ client, now: () => nowMs, signal: stop.signal, historyMs: 8 * hourMs, onFilled })
  return filled
}

const nowMs = Date.UTC(2026, 10, 15, 9, 17, 23)
const hourMs = 3_600_000

test('a second start sends only what has come since, and nothing twice', async () => {
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

test('a start that broke off is gone on with, without a hole', async () => {
  const whole = memoryService()
  await fill(whole.client, nowMs)
  const broken = memoryService(4)
  await expect(fill(broken.client, nowMs)).rejects.toThrow('The service ended.')
  broken.roomFor(Number.POSITIVE_INFINITY)
  await fill(broken.client, nowMs)
  for (const source of demoSources) expect(broken.of(source).length).toBe(whole.of(source).length)
})
