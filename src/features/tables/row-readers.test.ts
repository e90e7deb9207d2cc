import { describe, expect, test } from 'vitest'
import { maxInlineBytes, type RowBody, RowReaders } from './row-readers.ts'
import { RowReading } from './row-reading.ts'

const open = new AbortController().signal
const readersWith = (more: object = {}) =>
  new RowReaders({ maxWorkers: 1, maxHeapMiB: 64, maxStepMs: 60_000, ...more })
const csv = (text: string): RowBody => ({ bytes: Buffer.from(text), form: 'text/csv' })
const rowsOf = (count: number) =>
  `id,n\n${Array.from({ length: count }, (_, n) => `row ${n},${n}`).join('\n')}\n`
const large = () => csv(rowsOf(2_000))

/** All that a reader returns. */
const readAll = (readers: RowReaders, body: RowBody, signal = open) =>
  readers.read(body, signal, async (reader) => {
    const summary = await reader.summary(new Set(['gone']))
    const parts: Uint8Array[] = []
    for (;;) {
      const chunk = await reader.next(summary.columns)
      if ('digest' in chunk) return { summary, text: Buffer.concat(parts).toString(), digest: chunk.digest }
      parts.push(chunk.lines)
    }
  })

/** Number of worker threads that start meanwhile. */
async function workersOf(work: () => Promise<unknown>): Promise<number> {
  let count = 0
  const add = () => count++
  process.on('worker', add)
  await work().finally(() => process.off('worker', add))
  return count
}

describe('rows of a table', () => {
  test('of a large body are read by a worker alone, as they would be inline', async () => {
    const body = large()
    const expected = new RowReading(Buffer.from(body.bytes), 'text/csv', 2 ** 30)
    const summary = expected.summary(new Set())
    let read: Awaited<ReturnType<typeof readAll>> | undefined
    const workers = await workersOf(async () => {
      const reading = readAll(readersWith(), body)
      // From here on, this thread cannot read it.
      expect(await Promise.race([reading, Promise.resolve().then(() => body.bytes.length)])).toBe(0)
      read = await reading
    })
    expect(workers).toBe(1)
    expect(read?.summary).toEqual(summary)
    const chunk = expected.next(summary.columns)
    expect(read?.text).toBe('lines' in chunk ? Buffer.from(chunk.lines).toString() : '')
    expect({ digest: read?.digest }).toEqual(expected.next(summary.columns))
  })

  test('of a small body need no worker', async () => {
    const body = csv('project,n\ngone,1\nother,2\n,\n')
    expect(body.bytes.length).toBeLessThan(maxInlineBytes)
    let read: Awaited<ReturnType<typeof readAll>> | undefined
    const workers = await workersOf(async () => {
      read = await readAll(readersWith(), body)
    })
    expect(workers).toBe(0)
    expect(read?.text).toBe('["gone",1]\n["other",2]\n[null,null]\n')
    expect(read?.summary).toMatchObject({ rows: 3, erased: ['gone'] })
  })

  test('are returned in chunks, so that those of a wide table are never all in memory', () => {
    const names = Array.from({ length: 200 }, (_, n) => `"c${n}":1`).join()
    const reading = new RowReading(
      Buffer.from(`{${names}}\n${'{}\n'.repeat(5_000)}`),
      'application/x-ndjson',
      10_000,
    )
    const { columns, rows } = reading.summary(new Set())
    expect([columns.length, rows]).toEqual([200, 5_001])
    const lengths: number[] = []
    for (let chunk = reading.next(columns); 'lines' in chunk; chunk = reading.next(columns))
      lengths.push(chunk.lines.length)
    expect(lengths.length).toBeGreaterThan(400)
    expect(Math.max(...lengths)).toBeLessThan(11_100)
  })

  test('that a worker refuses are the error of their own request', async () => {
    const readers = readersWith()
    const refused = readAll(readers, csv(`${rowsOf(2_000)}a,b,c\n`))
    const others = [readAll(readers, large()), readAll(readers, large())]
    await expect(refused).rejects.toMatchObject({
      code: 'invalid_body',
      message: 'Row 2002 has 3 fields, and the header 2. Put values with commas into quotes.',
    })
    for (const { summary } of await Promise.all(others)) expect(summary.rows).toBe(2_000)
  })

  test('fail alone if their worker ends or takes too long', async () => {
    const readers = readersWith()
    // No form of this name is there, which only the worker notices.
    const broken = { ...large(), form: 'text/broken' as RowBody['form'] }
    await expect(readAll(readers, broken)).rejects.toMatchObject({
      code: 'internal',
      cause: expect.any(TypeError),
    })
    expect((await readAll(readers, large())).summary.rows).toBe(2_000)
    await expect(readAll(readersWith({ maxStepMs: 1 }), large())).rejects.toMatchObject({
      code: 'too_large',
      message: expect.stringContaining('longer than 0.001 s'),
    })
  })

  test('are no longer read once their sender is gone, also while they wait for a worker', async () => {
    const readers = readersWith()
    const [first, second] = [new AbortController(), new AbortController()]
    let begin = () => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const running = readers.read(large(), first.signal, async (reader) => {
      begin()
      await reader.summary(new Set())
      first.abort()
      return reader.next([])
    })
    await begun
    const waiting = readAll(readers, large(), second.signal)
    const last = readAll(readers, large())
    second.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'query_cancelled' })
    await expect(running).rejects.toMatchObject({ code: 'query_cancelled' })
    await expect(readAll(readers, large(), second.signal)).rejects.toMatchObject({ code: 'query_cancelled' })
    expect((await last).summary.rows).toBe(2_000)
  })
})
