import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { addAbortSignal, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { CommandFailure, type CommandIo } from '../command-io.ts'

export interface LogInput {
  name: string
  /** Undefined if unknown. */
  bytes: number | undefined
  open(): Readable
}

/** Checks all inputs before the first one is read, so that a typo is reported before anything is sent. */
export async function findInputs(names: readonly string[], io: CommandIo): Promise<LogInput[]> {
  return Promise.all(names.map((name) => findInput(name, io)))
}

async function findInput(name: string, io: CommandIo): Promise<LogInput> {
  if (name === '-') return { name: 'stdin', bytes: undefined, open: () => io.stdin }
  const path = resolve(io.cwd, name)
  const found = await stat(path).catch(({ code, message }: NodeJS.ErrnoException) => {
    throw new CommandFailure(`Cannot read ${name}: ${code === 'ENOENT' ? 'it does not exist' : message}.`)
  })
  if (found.isDirectory()) throw new CommandFailure(`Cannot read ${name}: it is a directory.`)
  return { name, bytes: found.isFile() ? found.size : undefined, open: () => createReadStream(path) }
}

const gzipMagic = Buffer.from([0x1f, 0x8b])

/** The bytes of an input. Gzip is detected by content, not by name. */
export async function* readUnpacked(input: LogInput, signal: AbortSignal, onRead: (bytes: number) => void) {
  const raw = addAbortSignal(signal, input.open())
  try {
    yield* unpacked(counted(raw, onRead))
  } catch (error) {
    if (signal.aborted) throw error
    const { code, message } = error as NodeJS.ErrnoException
    const reason = code?.startsWith('Z_') ? 'the gzip data is incomplete or damaged' : message
    throw new CommandFailure(`Cannot read all of ${input.name}: ${reason}.`, undefined, { cause: error })
  } finally {
    raw.destroy()
  }
}

async function* counted(stream: Readable, onRead: (bytes: number) => void): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    onRead((chunk as Buffer).length)
    yield chunk as Buffer
  }
}

async function* unpacked(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  let head = Buffer.alloc(0)
  while (head.length < gzipMagic.length) {
    const next = await chunks.next()
    if (next.done) break
    head = Buffer.concat([head, next.value])
  }
  async function* all() {
    yield head
    yield* chunks
  }
  if (!head.subarray(0, gzipMagic.length).equals(gzipMagic)) return yield* all()
  const unpacker = createGunzip()
  // A failure destroys the unpacker, so that reading it throws the same error.
  pipeline(all, unpacker).catch(() => {})
  yield* unpacker as AsyncIterable<Buffer>
}

/** A line with an entry, or the reason why it cannot be sent. */
export type ReadEntry = { line: number } & ({ text: string } | { reason: string })

/** Longer entries are rejected without reading them into memory. */
const maxEntryBytes = 8 * 2 ** 20

/** One entry per line. Refuses a document, whose lines are no entries. */
export async function* readEntries(name: string, chunks: AsyncIterable<Buffer>, maxBytes = maxEntryBytes) {
  let isFirst = true
  for await (const entry of splitLines(chunks, maxBytes)) {
    if (isFirst && 'text' in entry && /^(?:\[|\{\s*$|\{\s*"batch"\s*:\s*\[)/.test(entry.text)) {
      throw new CommandFailure(`${name} is one JSON document. Send its entries as lines: jq -c '.[]'`)
    }
    isFirst = false
    yield entry
  }
}

/** Blank lines are skipped but counted. */
export async function* splitLines(chunks: AsyncIterable<Buffer>, maxBytes: number) {
  let parts: Buffer[] = []
  let bytes = 0
  let line = 1
  const add = (part: Buffer) => {
    bytes += part.length
    if (bytes > maxBytes) parts = []
    else parts.push(part)
  }
  function* take(): Generator<ReadEntry> {
    const whole = Buffer.concat(parts)
    // Trims as the service does: it must count the same lines, or it would report wrong line numbers.
    const text = whole.toString().replace(/^\x1e/, '').trim()
    if (bytes > maxBytes) yield { line, reason: 'is too long to be an entry' }
    else if (!isUtf8(whole)) yield { line, reason: 'is not valid UTF-8' }
    else if (text !== '') yield { line, text }
    parts = []
    bytes = 0
    line++
  }
  for await (const chunk of chunks) {
    let from = 0
    for (let at = chunk.indexOf('\n'); at >= 0; at = chunk.indexOf('\n', from)) {
      add(chunk.subarray(from, at))
      yield* take()
      from = at + 1
    }
    add(chunk.subarray(from))
  }
  yield* take()
}
