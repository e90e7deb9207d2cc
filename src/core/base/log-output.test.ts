import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { scratchDirectory } from '../../../test/support/scratch.ts'
import { createLog, droppedLinesOf, LogOutput, lineWriterOf } from './log.ts'

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants

let directory: ReturnType<typeof scratchDirectory>
let fifo: string
let reader: number
let writer: number

beforeEach(() => {
  directory = scratchDirectory()
  fifo = join(directory.path, 'fifo')
  execFileSync('mkfifo', [fifo])
  reader = openSync(fifo, O_RDONLY | O_NONBLOCK)
  writer = openSync(fifo, O_WRONLY | O_NONBLOCK)
})
afterEach(() => {
  for (const fd of [reader, writer]) closeSync(fd)
  directory.remove()
})

/** Reads what is in the pipe. */
function readAll(): string {
  const bytes = Buffer.alloc(2 ** 16)
  let text = ''
  try {
    for (;;) text += bytes.toString('latin1', 0, readSync(reader, bytes))
  } catch {
    return text
  }
}

async function readUntil(expected: string): Promise<string> {
  let text = ''
  await vi.waitFor(
    () => {
      text += readAll()
      expect(text).toContain(expected)
    },
    { interval: 5 },
  )
  return text
}

test('keeps a bounded number of lines for a reader that pauses, and reports the others when it reads again', async () => {
  const output = new LogOutput(writer, 100_000)
  const log = createLog('info', output)
  const write = lineWriterOf(log)
  const sent = 10_000
  for (let n = 0; n < sent; n++) write?.(`"n":${n}`, 'request')
  const dropped = droppedLinesOf(log)
  expect(dropped).toBeGreaterThan(0)
  const lines = (await readUntil('were dropped')).trimEnd().split('\n')
  const numbers = lines.slice(0, -1).map((line) => JSON.parse(line).n)
  expect(numbers).toEqual(Array.from({ length: sent - dropped }, (_, n) => n))
  expect(JSON.parse(lines.at(-1) as string)).toMatchObject({ level: 40, lines: dropped })
  write?.('"n":1', 'after')
  await readUntil('after')
  expect(droppedLinesOf(log)).toBe(dropped)
})

test('keeps the order of serialized and other lines', async () => {
  const file = join(directory.path, 'file')
  const output = new LogOutput(openSync(file, 'w'), 100_000)
  const log = createLog('info', output)
  lineWriterOf(log)?.('"n":1', 'request')
  log.info({ n: 2 })
  lineWriterOf(log)?.('"n":3', 'request')
  await output.drain(10_000)
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  expect(lines.map((line) => JSON.parse(line).n)).toEqual([1, 2, 3])
})

test('writes a line without waiting for the next one', async () => {
  new LogOutput(writer, 100).write('alone\n')
  await readUntil('alone')
})

test('does not wait for a reader that never reads', async () => {
  const output = new LogOutput(writer, 1_000_000)
  output.write(`${'x'.repeat(500_000)}\n`)
  await output.drain(1)
  // Nothing may be written to a descriptor that the next test reuses.
  expect(await readUntil('\n')).toHaveLength(500_001)
})

test('continues when another reader opens the pipe', async () => {
  const output = new LogOutput(writer, 100)
  closeSync(reader)
  output.write('unread\n')
  await output.drain(1)
  reader = openSync(fifo, O_RDONLY | O_NONBLOCK)
  output.write('more\n')
  expect(await readUntil('more')).toBe('unread\nmore\n')
})
