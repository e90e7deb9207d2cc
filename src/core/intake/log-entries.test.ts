import { Readable } from 'node:stream'
import { afterAll, describe, expect, test } from 'vitest'
import { decodeBody } from './decode-body.ts'
import { DecoderPool, maxInlineBytes } from './decoder-pool.ts'
import { type EntryBatch, EntryBatchWriter, maxEntries } from './entry-batch.ts'
import { ByteBudget } from './intake-limits.ts'
import { readLogEntries } from './log-entries.ts'
import { readRequestBody } from './request-body.ts'

const nowMs = Date.UTC(2026, 10, 14, 12)
const source = { name: 'edge_logs', retentionDays: 90 }

const read = (body: string | Buffer, contentType = '') =>
  readLogEntries(
    Buffer.from(body as string),
    contentType,
    () => new EntryBatchWriter('edge_logs', { nowMs, retentionDays: 90 }),
  )

const idsOf = ({ lines }: EntryBatch) => [...lines].map((line) => JSON.parse(line.toString()).id as string)

const rejectionsOf = ({ errors }: EntryBatch) => errors.map(({ index, reason }) => [index, reason])

const quarantined = ({ quarantine }: EntryBatch) =>
  [...quarantine].map((line) => JSON.parse(line.toString()) as { event_message: string; metadata: object })

describe('the entries of a body', () => {
  test.each([
    ['{"id":"a"}', '', ['a']],
    [' [ {"id":"a"} , {"id":"b"} ] ', 'application/json', ['a', 'b']],
    ['[]', '', []],
    ['{ "batch" : [{"id":"a"},{"id":"b"}] }', '', ['a', 'b']],
    ['{"batch":[]}', '', []],
    ['{"source":"ot","batch":[{"id":"a"},{"id":"b"}]}', '', ['a', 'b']],
    [' {"batch":[{"id":"a"}], "source_name" : "ot" } ', '', ['a']],
    ['{"collection":"ot","batch":[{"id":"a"}],"collection_name":null}', '', ['a']],
    ['{"source":"ot","id":"a"}', '', ['a']],
    ['{"id":"a","batch":[{"id":"b"}]}', '', ['a']],
    ['{"batch":[{"id":"b"}],"id":"a"}', '', ['a']],
    ['\ufeff{"id":"a"}', '', ['a']],
    ['{"id":"a"}\n\n{"id":"b"}\r\n', '', ['a', 'b']],
    ['{"id":"a"}', 'application/x-ndjson', ['a']],
    ['\x1e{"id":"a"}\n\x1e{"id":"b"}\n', 'application/json-seq', ['a', 'b']],
    ['{"id":\n"a"}', '', ['a']],
  ])('%j, sent as "%s", are %j', (body, contentType, ids) => {
    expect(idsOf(read(body, contentType))).toEqual(ids)
  })

  test.each([
    ['', ''],
    [' \n\t', ''],
    ['text', ''],
    ['[{"id":"a"}', ''],
    ['[{"id":"a"},]', ''],
    ['[{"id":"a"}] x', ''],
    ['[\n{"id":"a"},\n{"id":"b"}\n', ''],
    ['{"id":"a"}\n{"id":"b"}', 'application/json'],
    ['{"id":"a"} {"id":"b"}', ''],
    ['{"batch":[{"id":"a"}', ''],
    ['{"batch":[{"id":"a"}],"source":"ot"} x', ''],
    ['a\nb', 'application/x-ndjson'],
    [Buffer.from([0x22, 0xff, 0x22]), ''],
  ])('%j, sent as "%s", are refused', (body, contentType) => {
    expect(() => read(body, contentType)).toThrow(/^The body is (?:empty|not valid)/)
  })

  test('of an object whose batch is not an array are that object', () => {
    for (const body of ['{}', ' { } ', '{"batch":1}', '{"batch":{}}']) expect(read(body).lines.count).toBe(1)
  })

  test('that are rejected keep their index, and their text goes to quarantine', () => {
    const sent = read('[{"id":"a"},7,{"timestamp":"then"},{"id":"b"},{"timestamp":"2020-01-01T00:00:00Z"}]')
    expect(idsOf(sent)).toEqual(['a', 'b'])
    expect([...sent.indices]).toEqual([0, 3])
    expect(rejectionsOf(sent)).toEqual([
      [1, 'an entry must be a JSON object'],
      [2, 'timestamp must be ISO 8601 or a Unix time in s, ms, µs or ns'],
      [4, "timestamp is older than the source's retention of 90 days"],
    ])
    expect(quarantined(sent)).toMatchObject([
      { event_message: '7', metadata: { source: 'edge_logs', index: 1 } },
      { event_message: '{"timestamp":"then"}' },
      { event_message: '{"timestamp":"2020-01-01T00:00:00Z"}' },
    ])
  })

  test('of NDJSON are rejected line by line', () => {
    const sent = read('{"id":"a"}\n{"id":\n{"id":"b"} {}\n "x" \n{"id":"c"}', 'application/x-ndjson')
    expect(idsOf(sent)).toEqual(['a', 'c'])
    expect(rejectionsOf(sent)).toEqual([
      [1, 'the line is not valid JSON'],
      [2, 'the line is not valid JSON'],
      [3, 'an entry must be a JSON object'],
    ])
    const texts = quarantined(sent).map(({ event_message }) => event_message)
    expect(texts).toEqual(['{"id":', '{"id":"b"} {}', '"x"'])
  })

  test('that are rejected in bulk are counted, and the first 1,000 go to quarantine with the number of the others', () => {
    const sent = read(JSON.stringify([...Array(1_500).fill(1), {}]))
    expect([sent.count, sent.rejected, sent.lines.count]).toEqual([1_501, 1_500, 1])
    const kept = quarantined(sent)
    expect(kept).toHaveLength(1_001)
    expect(kept.at(999)).toMatchObject({ event_message: '1', metadata: { index: 999 } })
    expect(kept.at(1_000)).toMatchObject({
      event_message: 'The first 1000 rejected entries of this request are kept, 500 others are not.',
      metadata: { index: 1_000, left_out: 500, reason: 'an entry must be a JSON object' },
    })
    expect(quarantined(read(JSON.stringify(Array(1_000).fill(1))))).toHaveLength(1_000)
  })

  test('in quarantine are truncated between characters', () => {
    const [kept] = quarantined(read(`["${'é'.repeat(2 ** 18)}"]`))
    expect(kept?.metadata).toMatchObject({ cut: true })
    expect(kept?.event_message).toMatch(/^"é+$/)
  })

  test('are counted before they are read', () => {
    const tooMany = `A request may have at most ${maxEntries} entries. Send smaller batches.`
    expect(read(`[${'0,'.repeat(maxEntries - 1)}0]`).count).toBe(maxEntries)
    expect(() => read(`[${'{},'.repeat(maxEntries)}{}]`)).toThrow(tooMany)
    expect(() => read(`{"batch":[${'{},'.repeat(maxEntries)}{}]}`)).toThrow(tooMany)
    expect(() => read('{}\n'.repeat(maxEntries + 1), 'application/x-ndjson')).toThrow(tooMany)
    // The rest is not read.
    expect(() => read(`[${'0,'.repeat(maxEntries + 1)} no JSON`)).toThrow(tooMany)
  })
})

describe('the decoder pool', () => {
  const pool = new DecoderPool({ maxWorkers: 1, maxWaiting: 3, maxWaitingPerSender: 2, maxHeapMiB: 64 })
  afterAll(() => pool.stop())

  const bodyOf = (text: string): Promise<Buffer> => {
    const bytes = Buffer.from(text)
    const chunks = Array.from({ length: Math.ceil(bytes.length / 10_000) }, (_, i) =>
      bytes.subarray(i * 10_000, (i + 1) * 10_000),
    )
    return readRequestBody(Readable.from(chunks), undefined, new ByteBudget(2 ** 30).share('a'))
  }
  const job = { kind: 'logs', nowMs, owner: undefined, contentType: '', source } as const
  const entries = (count: number) =>
    JSON.stringify(Array.from({ length: count }, (_, i) => (i % 3 ? { id: `${i}`, timestamp: nowMs } : i)))

  test('decodes a large body on a worker thread as it would inline', async () => {
    const text = entries(300)
    expect(text.length).toBeGreaterThan(maxInlineBytes)
    const [read] = (await pool.decode(await bodyOf(text), job, 'a')) as [EntryBatch]
    const [expected] = decodeBody(Buffer.from(text), job) as [EntryBatch]
    const withoutIds = (read: EntryBatch) => ({
      ...read,
      quarantine: quarantined(read).map(({ metadata }) => metadata),
    })
    expect(withoutIds(read)).toEqual(withoutIds(expected))
    expect(read.lines.count).toBe(200)
  })

  test('reports the errors of a worker thread', async () => {
    const tooLarge = pool.decode(await bodyOf(`[${'{},'.repeat(60_000)}{}]`), job, 'a')
    await expect(tooLarge).rejects.toMatchObject({ code: 'too_large' })
    const invalid = pool.decode(await bodyOf(`[${'{},'.repeat(10_000)}`), job, 'a')
    await expect(invalid).rejects.toMatchObject({ code: 'invalid_body' })
  })

  test('limits the number of waiting bodies', async () => {
    const bodies = await Promise.all(Array.from({ length: 5 }, () => bodyOf(entries(3_000))))
    const reads = bodies.map((body) => pool.decode(body, job, 'a'))
    const outcomes = await Promise.allSettled(reads)
    const statuses = outcomes.map(({ status }) => status)
    expect(statuses).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'])
    await expect(reads[4]).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 1 })
  })

  test('gives senders turns, and leaves room for others', async () => {
    const senders = ['busy', 'busy', 'busy', 'busy', 'calm']
    const bodies = await Promise.all(senders.map(() => bodyOf(entries(3_000))))
    const order: string[] = []
    const reads = senders.map((sender, index) =>
      pool.decode(bodies[index] as Buffer, job, sender).then(
        () => order.push(sender),
        () => order.push(`${sender} refused`),
      ),
    )
    await Promise.all(reads)
    expect(order).toEqual(['busy refused', 'busy', 'busy', 'calm', 'busy'])
  })

  test('fails only the request whose worker runs out of memory', async () => {
    const value = '{"resourceLogs":[{"scopeLogs":[{"logRecords":['
    const hungry = `${value}${Array.from({ length: 300_000 }, (_, i) => `{"${i}":{"a":[]}}`).join()}]}]}]}`
    const shared = { nowMs, owner: undefined, defaultSource: 's', sources: new Map() }
    const otlp = { kind: 'otlp', encoding: 'json', ...shared } as const
    const [failed, read] = await Promise.allSettled([
      pool.decode(await bodyOf(hungry), otlp, 'a'),
      pool.decode(await bodyOf(entries(3_000)), job, 'b'),
    ])
    expect(failed).toMatchObject({ status: 'rejected', reason: { code: 'internal' } })
    expect(read.status).toBe('fulfilled')
  })
})
