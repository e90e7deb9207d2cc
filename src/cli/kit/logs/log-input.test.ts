import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { memoryIo } from '../../../../test/support/memory-io.ts'
import { findInputs, type LogInput, type ReadEntry, readEntries, readUnpacked } from './log-input.ts'

async function* inChunks(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function readInChunks(text: string, size: number, maxBytes = 1_000) {
  const entries: string[] = []
  for await (const entry of readEntries('input', inChunks(text, size), maxBytes)) {
    entries.push(`${entry.line}: ${'text' in entry ? entry.text : entry.reason}`)
  }
  return entries
}

async function read(text: string) {
  const [first, ...others] = await Promise.all([1, 2, 7, 100_000].map((size) => readInChunks(text, size)))
  for (const other of others) expect(other).toEqual(first)
  return first
}

const long = `{"a":"${'x'.repeat(2_000)}"}`

describe('readEntries', () => {
  test.each<[string, string, string[]]>([
    [
      'lines with their numbers, without blank lines',
      '{"a":1}\n\n  {"a":2}\r\n \t\n\x1e{"a":3}',
      ['1: {"a":1}', '3: {"a":2}', '5: {"a":3}'],
    ],
    ['nothing', '', []],
    ['nothing from blank lines', '\n \n', []],
    [
      'a line that is not JSON as one entry',
      '{"a":1}\n{"a":\n{"a":3}\n',
      ['1: {"a":1}', '2: {"a":', '3: {"a":3}'],
    ],
    [
      'a first line that is not JSON as one entry',
      '{"cut off":"at the begin\n{"a":2}\n',
      ['1: {"cut off":"at the begin', '2: {"a":2}'],
    ],
    [
      'lines that are too long',
      `{"a":1}\n${long}\n{"a":2}`,
      ['1: {"a":1}', '2: is too long to be an entry', '3: {"a":2}'],
    ],
  ])('reads %s', async (_, text, expected) => {
    expect(await read(text)).toEqual(expected)
  })

  test('reports a line that is not UTF-8, which would make a whole batch unreadable', async () => {
    async function* chunks() {
      yield Buffer.from([0x7b, 0xff, 0x7d, 0x0a, 0x7b, 0x7d])
    }
    const entries: ReadEntry[] = []
    for await (const entry of readEntries('input', chunks())) entries.push(entry)
    expect(entries).toEqual([
      { line: 1, reason: 'is not valid UTF-8' },
      { line: 2, text: '{}' },
    ])
  })

  test.each([
    ['an array', '\n[{"a":1},{"a":2}]'],
    ['an object of several lines', '{\n "a": 1\n}\n'],
    ['a batch', '{ "batch": [{"a":1}]}'],
  ])('refuses %s', async (_, text) => {
    await expect(read(text)).rejects.toThrow(
      "input is one JSON document. Send its entries as lines: jq -c '.[]'",
    )
  })

  test('returns any entries unchanged', async () => {
    const anyEntries = fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { minLength: 1 })
    const property = fc.asyncProperty(anyEntries, async (entries) => {
      const lines = entries.map((one) => JSON.stringify(one))
      if (/^\{\s*"batch"/.test(lines[0] ?? '')) return
      const found = (await readInChunks(lines.join('\n'), 13, 10 ** 6)) as string[]
      expect(found.map((entry) => entry.replace(/^\d+: /, ''))).toEqual(lines)
    })
    await fc.assert(property, { numRuns: 60 })
  })
})

describe('readUnpacked', () => {
  const unpacked = async (input: Buffer) => {
    const io = memoryIo({ input })
    const [found] = await findInputs(['-'], io)
    let count = 0
    const parts: Buffer[] = []
    for await (const chunk of readUnpacked(found as LogInput, io.signal, (bytes) => (count += bytes))) {
      parts.push(chunk)
    }
    return { text: Buffer.concat(parts).toString(), count }
  }

  test.each([
    [
      'gzip of several members',
      Buffer.concat([gzipSync('{"a":1}\n'), gzipSync('{"a":2}\n')]),
      '{"a":1}\n{"a":2}\n',
    ],
    ['plain text', Buffer.from('{}'), '{}'],
    ['nothing', Buffer.alloc(0), ''],
  ])('reads %s and counts its bytes', async (_, input, text) => {
    expect(await unpacked(input)).toEqual({ text, count: input.length })
  })

  test('rejects truncated gzip', async () => {
    const input = gzipSync('x'.repeat(1000)).subarray(0, -5)
    await expect(unpacked(input)).rejects.toThrow('the gzip data is incomplete')
  })

  test.each([
    ['/no/such/file', 'Cannot read /no/such/file: it does not exist.'],
    ['/tmp', 'it is a directory'],
  ])('rejects %s before reading anything', async (name, message) => {
    await expect(findInputs(['-', name], memoryIo())).rejects.toThrow(message)
  })
})
