import { gzipSync } from 'node:zlib'
import { HttpClient, type HttpRequest } from '../load/http-client.ts'
import { loadTarget } from '../load/load-target.ts'
import { allowedDelayMs, cached, longestDelay, quietDelay } from '../load/longest-delay.ts'
import type { Scenario } from '../support/scenario.ts'
import { adminToken, type Target } from '../support/target.ts'

/** Uncompressed size of a body. The short form sends less, which is refused or stored for the same reasons. */
const uncompressedBytes = { long: 64 * 2 ** 20 - 100, short: 2 ** 20 }

/** A hostile body and the allowed statuses. */
interface Hostile {
  path: string
  /** `bytes` is ignored if the size is part of the attack. */
  body: (bytes: number) => Buffer
  type?: string
  method?: 'PUT'
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
const table = 'torture_rows'
const rows = { path: `/api/tables/${table}/rows`, method: 'PUT' } as const
const wideRow = `{${Array.from({ length: 200 }, (_, index) => `"c${index}":1`).join()}}\n`

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
  'many keys': { path: logs, body: (bytes) => manyKeys(Math.min(700_000, bytes >> 4)), expected: [200] },
  'OTLP with empty resources': {
    path: otlp,
    body: (bytes) => around('{"resourceLogs":[', '{},', '{}]}', bytes),
    expected: [413],
  },
  'OTLP with many attributes': {
    path: otlp,
    body: (bytes) =>
      around(
        '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"attributes":[',
        '{"key":"a","value":{"intValue":1}},',
        '{}]}]}]}]}',
        Math.min(20 * 2 ** 20, bytes),
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
  'rows of blank lines': { ...rows, body: (bytes) => filled('\n', bytes), type: ndjson, expected: [400] },
  'rows of empty objects': { ...rows, body: (bytes) => filled('{}\n', bytes), type: ndjson, expected: [400] },
  'rows with many keys': {
    ...rows,
    body: (bytes) => manyKeys(Math.floor(bytes / 32)),
    type: ndjson,
    expected: [400],
  },
  'rows that are an array of numbers': {
    ...rows,
    body: (bytes) => around('[', '1,', '1]', bytes),
    expected: [400],
  },
  'rows with doubled quotes': {
    ...rows,
    body: (bytes) => around('id\n"', '""', '"\n', bytes),
    type: 'text/csv',
    expected: [400],
  },
  'rows with a header of commas': {
    ...rows,
    body: (bytes) => filled(',', bytes),
    type: 'text/csv',
    expected: [400],
  },
  'rows after blank lines': {
    ...rows,
    body: (bytes) => around('', '\n', 'id\na\n', bytes),
    type: 'text/csv',
    expected: [200],
  },
  'rows of 200 columns that are null': {
    ...rows,
    body: () => around(wideRow, '{}\n', '', 3 * 50_000),
    type: ndjson,
    expected: [200],
  },
}

export const stall: Scenario = {
  name: 'stall',
  title: 'no request body delays other requests',
  async run(run) {
    const target = await loadTarget(run)
    const faults: string[] = []
    const url = await target.url()
    await createTable(target)
    const quiet = await quietDelay(run, target)
    const counts: Record<string, number> = { 'without a body, slowest ms': quiet }
    for (const [name, hostile] of Object.entries(bodies)) {
      const request = requestOf(hostile, run.size(uncompressedBytes.long, uncompressedBytes.short))
      const rounds = run.cycles(5, 1)
      const http = new HttpClient(url, 1)
      const delay = await longestDelay(run, url, async () => {
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

/** Another scenario may have created it. */
async function createTable(target: Target): Promise<void> {
  const { status } = await target.call('/api/tables', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: table }),
  })
  if (status !== 201 && status !== 409) throw new Error(`Creating a table returned ${status}.`)
}

/** Logs and rows are sent with gzip; queries accept no compressed bodies. */
function requestOf({ path, body, method, type = 'application/json' }: Hostile, bytes: number): HttpRequest {
  const sent = body(bytes)
  if (path === cached) return { path, token: adminToken, body: sent }
  const compressed = gzipSync(sent, { level: 6 })
  const headers = { 'Content-Type': type, 'Content-Encoding': 'gzip' }
  return { path, token: adminToken, body: compressed, headers, ...(method && { method }) }
}
