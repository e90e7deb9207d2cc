import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { memoryIo } from '../../../test/support/memory-io.ts'
import { readEntries } from './entry-reader.ts'
import { findInputs, readUnpacked } from './log-input.ts'

const bounds = { maxEntryBytes: 1_000, maxDocumentBytes: 5_000 }

async function* inChunks(text: string | Buffer, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** Checks that the chunk size makes no difference. */
async function read(text: string | Buffer) {
  const readings = []
  for (const size of [1, 2, 7, 100_000]) {
    const reading = await readEntries('input', inChunks(text, size), bounds)
    if (reading.kind === 'document') readings.push({ document: reading.text.toString() })
    else {
      const entries: unknown[] = []
      for await (const entry of reading.entries) {
        entries.push('text' in entry ? [entry.line, entry.text.toString()] : [entry.line, 'too long'])
      }
      readings.push(entries)
    }
  }
  for (const other of readings) expect(other).toEqual(readings[0])
  return readings[0]
}

describe('readEntries', () => {
  test('reads lines with their numbers and skips blank lines', async () => {
    expect(await read('{"a":1}\n\n  {"a":2}\r\n \t\n\x1e{"a":3}')).toEqual([
      [1, '{"a":1}'],
      [3, '{"a":2}'],
      [5, '{"a":3}'],
    ])
  })

  test('reads nothing from blank inputs', async () => {
    expect(await read('')).toEqual([])
    expect(await read('\n \n')).toEqual([])
    expect(await read('[]')).toEqual([])
    expect(await read(' [ \n ] ')).toEqual([])
  })

  test('treats a line that is not JSON as one entry', async () => {
    expect(await read('{"a":1}\n{"a":\n{"a":3}\n')).toEqual([
      [1, '{"a":1}'],
      [2, '{"a":'],
      [3, '{"a":3}'],
    ])
    expect(await read('{"cut off":"at the begin\n{"a":2}\n')).toEqual([
      [1, '{"cut off":"at the begin'],
      [2, '{"a":2}'],
    ])
  })

  test('reads the members of an array with the line where each starts', async () => {
    expect(await read('[\n  {"a": 1,\n   "b": "],}\\""},\n\n  {"a": [2, {}]}, 3,"x"\n]\n')).toEqual([
      [2, '{"a": 1,    "b": "],}\\""}'],
      [5, '{"a": [2, {}]}'],
      [5, '3'],
      [5, '"x"'],
    ])
  })

  test('reads an object of several lines, and a batch, as a document', async () => {
    expect(await read('{\n "a": 1\n}\n')).toEqual({ document: '{\n "a": 1\n}\n' })
    expect(await read('{"batch":[{"a":1}]}')).toEqual({ document: '{"batch":[{"a":1}]}' })
  })

  test('reports entries that are too long', async () => {
    expect(await read(`{"a":1}\n{"a":"${'x'.repeat(2_000)}"}\n{"a":2}`)).toEqual([
      [1, '{"a":1}'],
      [2, 'too long'],
      [3, '{"a":2}'],
    ])
    expect(await read(`[{"a":"${'x'.repeat(2_000)}"},\n{"a":2}]`)).toEqual([
      [1, 'too long'],
      [2, '{"a":2}'],
    ])
    await expect(read(`{"batch":[${'1,'.repeat(4_000)}1]}`)).rejects.toThrow('one document of more than')
  })

  test('rejects an incomplete array and content after an array', async () => {
    await expect(read('[{"a":1},')).rejects.toThrow('input ends in the middle of its array')
    await expect(read('[{"a":1}]\n{}')).rejects.toThrow('input:2: unexpected content after the array')
  })

  test('returns any entries unchanged, from lines and from an array', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { minLength: 1 }),
        async (given) => {
          const roomy = { maxEntryBytes: 10 ** 6, maxDocumentBytes: 10 ** 6 }
          for (const text of [
            given.map((one) => JSON.stringify(one)).join('\n'),
            JSON.stringify(given, null, 1),
          ]) {
            if (/^\{\s*"batch"/.test(text)) continue
            const reading = await readEntries('input', inChunks(text, 13), roomy)
            const found: unknown[] = []
            if (reading.kind === 'document') throw new Error('Read as a document.')
            for await (const entry of reading.entries) {
              if ('text' in entry) found.push(JSON.parse(entry.text.toString()))
            }
            expect(found).toEqual(JSON.parse(JSON.stringify(given)))
          }
        },
      ),
      { numRuns: 60 },
    )
  })
})

describe('readUnpacked', () => {
  const unpacked = async (input: Buffer) => {
    const io = memoryIo({ input })
    const [found] = await findInputs(['-'], io)
    let count = 0
    const parts: Buffer[] = []
    for await (const chunk of readUnpacked(found as never, io.signal, (bytes) => (count += bytes))) {
      parts.push(chunk)
    }
    return { text: Buffer.concat(parts).toString(), count }
  }

  test('unpacks gzip, also of several members, and counts packed bytes', async () => {
    const packed = Buffer.concat([gzipSync('{"a":1}\n'), gzipSync('{"a":2}\n')])
    expect(await unpacked(packed)).toEqual({ text: '{"a":1}\n{"a":2}\n', count: packed.length })
    expect(await unpacked(Buffer.from('{}'))).toEqual({ text: '{}', count: 2 })
    expect(await unpacked(Buffer.alloc(0))).toEqual({ text: '', count: 0 })
  })

  test('rejects truncated gzip', async () => {
    await expect(unpacked(gzipSync('x'.repeat(1000)).subarray(0, -5))).rejects.toThrow(
      'the gzip data is incomplete',
    )
  })

  test('reports a missing file before reading anything', async () => {
    await expect(findInputs(['-', '/no/such/file'], memoryIo())).rejects.toThrow(
      'Cannot read /no/such/file: it does not exist.',
    )
    await expect(findInputs(['/tmp'], memoryIo())).rejects.toThrow('it is a directory')
  })
})
