import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
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
  const raw = input.open()
  const stop = () => raw.destroy(new Error('stopped'))
  signal.addEventListener('abort', stop, { once: true })
  try {
    const chunks = counted(raw, onRead)
    const head = await readUntil(chunks, gzipMagic.length)
    const all = prepend(head, chunks)
    yield* head.subarray(0, gzipMagic.length).equals(gzipMagic) ? gunzip(all) : all
  } catch (error) {
    if (signal.aborted) throw error
    const { code, message } = error as NodeJS.ErrnoException
    const reason = code?.startsWith('Z_') ? 'the gzip data is incomplete or damaged' : message
    throw new CommandFailure(`Cannot read all of ${input.name}: ${reason}.`, undefined, { cause: error })
  } finally {
    signal.removeEventListener('abort', stop)
    raw.destroy()
  }
}

async function* counted(stream: Readable, onRead: (bytes: number) => void): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    onRead((chunk as Buffer).length)
    yield chunk as Buffer
  }
}

/** Reads at least so many bytes, unless the input ends or a chunk is enough. */
export async function readUntil(
  chunks: AsyncGenerator<Buffer>,
  minBytes: number,
  isEnough: (chunk: Buffer) => boolean = () => false,
): Promise<Buffer> {
  const parts: Buffer[] = []
  let length = 0
  while (length < minBytes) {
    const next = await chunks.next()
    if (next.done) break
    parts.push(next.value)
    length += next.value.length
    if (isEnough(next.value)) break
  }
  return Buffer.concat(parts)
}

export async function* prepend(head: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head
  yield* rest
}

async function* gunzip(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const { createGunzip } = await import('node:zlib')
  const unpacker = createGunzip()
  // A failure destroys the unpacker, so that reading it throws the same error.
  const feeding = pipeline(chunks, unpacker).catch(() => {})
  try {
    yield* unpacker as AsyncIterable<Buffer>
  } finally {
    unpacker.destroy()
    await feeding
  }
}

export type ReadEntry =
  | { text: Buffer; line: number }
  /** Larger than any entry that would be stored, so it is not kept in memory. */
  | { tooLong: true; line: number }

/** Longer entries are rejected without reading them into memory. */
const maxEntryBytes = 8 * 2 ** 20

/** One entry per line. Refuses a document, whose lines are no entries. */
export async function* readEntries(name: string, chunks: AsyncIterable<Buffer>, maxBytes = maxEntryBytes) {
  let isFirst = true
  for await (const entry of splitLines(chunks, maxBytes)) {
    const start = isFirst && 'text' in entry ? entry.text.toString('utf8', 0, 100) : ''
    if (/^(?:\[|\{\s*$|\{\s*"batch"\s*:\s*\[)/.test(start)) {
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
    const text = trimmed(Buffer.concat(parts))
    if (bytes > maxBytes) yield { tooLong: true, line }
    else if (text.length > 0) yield { text, line }
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

const isPrintable = (byte: number | undefined) => byte !== undefined && byte > 0x20 && byte < 0x7f

/** Trims as the service does: it must count the same lines, or it would report wrong line numbers. */
function trimmed(text: Buffer): Buffer {
  // Invalid text is reported later and must not change here.
  if ((isPrintable(text[0]) && isPrintable(text.at(-1))) || !isUtf8(text)) return text
  return Buffer.from(text.toString().replace(/^\x1e/, '').trim())
}
