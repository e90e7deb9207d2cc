import { gzipSync } from 'node:zlib'
import { natively } from '../../test/support/engines.ts'
import { HttpClient, type HttpRequest } from '../load/http-client.ts'
import { loadTarget, percentile } from '../load/load-target.ts'
import type { Scenario } from '../support/scenario.ts'
import { adminToken, type Target } from '../support/target.ts'

/** Uncompressed size of a body. The short form sends less, which is refused or stored for the same reasons. */
const uncompressedBytes = { long: 64 * 2 ** 20 - 100, short: 6 * 2 ** 20 }
const name = 'torture.stall'
const cached = `/api/endpoints/query/${name}`

/** Allowed additional delay of other requests. An emulated engine takes more of the CPU. */
const allowedDelayMs = natively(50, 1_000)

/** A hostile body and the allowed statuses. */
interface Hostile {
  path: string
  /** `bytes` is ignored if the size is part of the attack. */
  body: (bytes: number) => Buffer
  type?: string
  expected: readonly number[]
}

const filled = (text: string, bytes: number) => Buffer.alloc(bytes - (bytes % text.length), text)
const around = (before: string, text: string, after: string, bytes: number) =>
  Buffer.concat([Buffer.from(before), filled(text, bytes), Buffer.from(after)])
const manyKeys = (count: number) => {
  const members = Array.from({ length: count }, (_, index) => `"key ${index}":${index}`)
  return Buffer.from(`{${members.join()}}`)
}

const logs = '/api/logs?source=edge_logs'
const otlp = '/v1/logs'
const ndjson = 'application/x-ndjson'

const bodies: Record<string, Hostile> = {
  'empty entries': { path: logs, body: (bytes) => around('[', '{},', '{}]', bytes), expected: [413] },
  'empty entries after a large integer': {
    path: logs,
    body: (bytes) => around('[{"a":12345678901234567890},', '{},', '{}]', bytes),
    expected: [413],
  },
  'empty entries as lines': {
    path: logs,
    body: (bytes) => filled('{}\n', bytes),
    type: ndjson,
    expected: [413],
  },
  'empty lines': { path: logs, body: (bytes) => filled('\n', bytes), type: ndjson, expected: [400] },
  'entries that are not objects': {
    path: logs,
    body: () => around('[', '0,', '0]', 2 * 49_999),
    expected: [200],
  },
  'lines that are not JSON': {
    path: logs,
    body: () => around('{}\n', 'x\n', '', 2 * 49_990),
    type: ndjson,
    expected: [200],
  },
  'deep objects': { path: logs, body: (bytes) => filled('{"a":', bytes), expected: [400] },
  'deep arrays': { path: logs, body: (bytes) => filled('[', bytes), expected: [400] },
  'one string': {
    path: logs,
    body: (bytes) => around('{"event_message":"', 'x', '"}', bytes),
    expected: [200],
  },
  'one number': { path: logs, body: (bytes) => around('{"a":', '9', '}', bytes), expected: [200] },
  'only whitespace': { path: logs, body: (bytes) => filled(' ', bytes), expected: [400] },
  'many keys': { path: logs, body: () => manyKeys(700_000), expected: [200] },
  'OTLP with empty resources': {
    path: otlp,
    body: (bytes) => around('{"resourceLogs":[', '{},', '{}]}', bytes),
    expected: [413],
  },
  'OTLP with many attributes': {
    path: otlp,
    body: () =>
      around(
        '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"attributes":[',
        '{"key":"a","value":{"intValue":1}},',
        '{}]}]}]}]}',
        20 * 2 ** 20,
      ),
    expected: [200],
  },
  'OTLP in protobuf with empty resources': {
    path: otlp,
    body: (bytes) => filled('\x0a\x00', bytes),
    type: 'application/x-protobuf',
    expected: [413],
  },
  'a query with many keys': { path: cached, body: () => manyKeys(700_000), expected: [413] },
  'a query with as many keys as fit': { path: cached, body: () => manyKeys(50_000), expected: [413] },
}

export const stall: Scenario = {
  name: 'stall',
  title: 'no request body delays other requests',
  async run(run) {
    const target = await loadTarget(run)
    await createEndpoint(target)
    const faults: string[] = []
    const url = await target.url()
    const quiet = await longestDelay(
      url,
      () => new Promise((resolve) => setTimeout(resolve, run.size(3_000, 300))),
    )
    const counts: Record<string, number> = { 'without a body, slowest ms': quiet }
    for (const [name, hostile] of Object.entries(bodies)) {
      const request = requestOf(hostile, run.size(uncompressedBytes.long, uncompressedBytes.short))
      const rounds = run.cycles(5, 1)
      const http = new HttpClient(url, 1)
      const delay = await longestDelay(url, async () => {
        for (let round = 0; round < rounds; round++) {
          const { status, text } = await http.send(request)
          if (!hostile.expected.includes(status)) faults.push(`${name}: ${status} ${text.slice(0, 200)}`)
        }
      }).finally(() => http.close())
      counts[`${name}, slowest ms`] = delay
      run.say(`${name}: slowest other request ${delay} ms`)
      // The short form checks no times, because other tests run in parallel.
      if (run.size(1, 0) === 1 && delay > quiet + allowedDelayMs)
        faults.push(`${name}: another request took ${delay} ms`)
    }
    return { counts, faults: [...new Set(faults)] }
  },
}

/** Cached for longer than the scenario takes. */
async function createEndpoint(target: Target): Promise<void> {
  await target.json('/api/endpoints', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ name, query: 'SELECT 1 AS n', cache_seconds: 86_400 }),
  })
}

/** Logs are sent with gzip; queries accept no compressed bodies. */
function requestOf({ path, body, type = 'application/json' }: Hostile, bytes: number): HttpRequest {
  const sent = body(bytes)
  if (path === cached) return { path, token: adminToken, body: sent }
  const compressed = gzipSync(sent, { level: 6 })
  const headers = { 'Content-Type': type, 'Content-Encoding': 'gzip' }
  return { path, token: adminToken, body: compressed, headers }
}

/** Sends cached queries and health checks during the work and returns the slowest time in ms. */
async function longestDelay(url: string, work: () => Promise<unknown>): Promise<number> {
  const http = new HttpClient(url, 2)
  // Fills the cache.
  await http.send({ path: cached, token: adminToken })
  let over = false
  const delays: number[] = []
  const watch = async (path: string) => {
    while (!over) {
      const { ms } = await http.send({ path, token: adminToken })
      delays.push(ms)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
  const watching = Promise.all([watch(cached), watch('/health')])
  try {
    await work()
  } finally {
    over = true
    await watching
    http.close()
  }
  return Math.ceil(percentile(delays, 100))
}
