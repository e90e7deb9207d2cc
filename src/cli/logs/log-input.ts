import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { drained } from '../../base/compressed.ts'
import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'

/** Something to read entries from. */
export interface LogInput {
  /** As the person called it. */
  name: string
  /** Undefined where nobody knows. */
  bytes: number | undefined
  open(): Readable
}

/** All of them are looked at before the first is read: a typo is told before anything is sent. */
export async function findInputs(names: readonly string[], io: CommandIo): Promise<LogInput[]> {
  return Promise.all(names.map((name) => findInput(name, io)))
}

async function findInput(name: string, io: CommandIo): Promise<LogInput> {
  if (name === '-') return { name: 'stdin', bytes: undefined, open: () => io.stdin }
  const path = resolve(io.cwd, name)
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailure(
      `${name} cannot be read: ${error.code === 'ENOENT' ? 'it is not there' : error.message}.`,
    )
  })
  if (found.isDirectory()) throw new CommandFailure(`${name} cannot be read: it is a directory.`)
  return { name, bytes: found.isFile() ? found.size : undefined, open: () => createReadStream(path) }
}

const gzipMagic = [0x1f, 0x8b] as const

/** The bytes of an input, unpacked where they are gzip, whatever the input is called. */
export async function* readUnpacked(
  input: LogInput,
  signal: AbortSignal,
  onRead: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  const raw = input.open()
  const stop = () => raw.destroy(new Error('stopped'))
  signal.addEventListener('abort', stop, { once: true })
  try {
    const chunks = counted(raw, onRead)
    const head = await firstBytes(chunks)
    const all = prepend(head, chunks)
    yield* head[0] === gzipMagic[0] && head[1] === gzipMagic[1] ? gunzip(all) : all
  } catch (error) {
    if (signal.aborted) throw error
    const { code, message } = error as NodeJS.ErrnoException
    const why = code?.startsWith('Z_') ? 'it is no whole gzip' : message
    throw new CommandFailure(`${input.name} cannot be read to its end: ${why}.`, undefined, { cause: error })
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

async function firstBytes(chunks: AsyncGenerator<Buffer>): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0)
  while (head.length < gzipMagic.length) {
    const next = await chunks.next()
    if (next.done) break
    head = Buffer.concat([head, next.value])
  }
  return head
}

/** What was read to look at it comes first. */
export async function* prepend(head: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head
  yield* rest
}

async function* gunzip(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const unpacker = createGunzip()
  const feeding = feed(chunks, unpacker).catch((error) => void unpacker.destroy(error))
  try {
    for await (const chunk of unpacker) yield chunk as Buffer
  } finally {
    unpacker.destroy()
    await feeding
  }
}

async function feed(chunks: AsyncIterable<Buffer>, unpacker: ReturnType<typeof createGunzip>): Promise<void> {
  for await (const chunk of chunks) {
    if (unpacker.destroyed) return
    if (!unpacker.write(chunk)) await drained(unpacker)
  }
  unpacker.end()
}
