import type { Readable } from 'node:stream'
import * as zlib from 'node:zlib'
import { drained } from '../base/compressed.ts'
import { invalidBody, tooLarge, unsupportedMediaType } from '../base/errors.ts'
import type { BudgetShare } from './byte-budget.ts'

export const bodyLimits = { maxSentBytes: 12 * 2 ** 20, maxUnpackedBytes: 64 * 2 ** 20 } as const

const maxPieceBytes = 2 ** 20

type Unpacker = () => zlib.Gunzip | zlib.Inflate

/** Each chunk costs a turn of the event loop. */
const chunkSize = 64 * 1024

const unpackers = new Map<string, Unpacker | undefined>([
  ['gzip', () => zlib.createGunzip({ chunkSize })],
  ['x-gzip', () => zlib.createGunzip({ chunkSize })],
  ['deflate', () => zlib.createInflate({ chunkSize })],
  // Newer than the oldest Node that is supported.
  ['zstd', (zlib as unknown as { createZstdDecompress?: Unpacker }).createZstdDecompress],
])

/**
 * A body as it comes in, in few pieces. They are memory of their own, so that another thread can take them; bytes of the
 * socket cannot be given away.
 */
export class SentBody {
  readonly #pieces: Buffer[] = []
  /** Bytes that are free at the end of the last piece. */
  #free = 0
  #length = 0

  get length(): number {
    return this.#length
  }

  add(chunk: Buffer): void {
    for (let from = 0; from < chunk.length; ) {
      if (this.#free === 0) {
        this.#free = Math.max(chunk.length - from, Math.min(this.#length, maxPieceBytes))
        this.#pieces.push(Buffer.allocUnsafeSlow(this.#free))
      }
      const piece = this.#pieces.at(-1) as Buffer
      const copied = chunk.copy(piece, piece.length - this.#free, from)
      from += copied
      this.#free -= copied
      this.#length += copied
    }
  }

  pieces(): Buffer[] {
    const last = this.#pieces.at(-1)
    if (last === undefined || this.#free === 0) return this.#pieces
    return [...this.#pieces.slice(0, -1), last.subarray(0, last.length - this.#free)]
  }
}

/** Reads and unpacks a body; its own bounds and that of all bodies hold while it is read, not after. */
export async function readLogBody(
  sent: Readable | undefined,
  encoding: string | undefined,
  share: BudgetShare,
): Promise<SentBody> {
  if (sent === undefined) return new SentBody()
  try {
    return await readAll(sent, encoding, share)
  } catch (error) {
    // What still comes is read and dropped: cut off in the middle, the sender would not hear the answer.
    sent.resume()
    throw error
  }
}

async function readAll(sent: Readable, encoding: string | undefined, share: BudgetShare): Promise<SentBody> {
  const name = (encoding ?? 'identity').trim().toLowerCase()
  if (name === 'identity' || name === '') {
    return gather(sent, {
      maxBytes: bodyLimits.maxSentBytes,
      message: 'The body is larger than 12 MiB.',
      share,
    })
  }
  const unpacker = unpackers.get(name)?.()
  if (!unpacker) throw unsupportedMediaType(`The content encoding "${name}" is not read here.`)
  const failed = new Promise<never>((_resolve, reject) => unpacker.once('error', reject))
  failed.catch(() => {})
  const feeding = feed(sent, unpacker)
  feeding.catch(() => {})
  try {
    const message = 'The unpacked body is larger than 64 MiB.'
    const unpacked = gather(unpacker, { maxBytes: bodyLimits.maxUnpackedBytes, message, share })
    const [body] = await Promise.all([Promise.race([unpacked, failed]), feeding])
    return body
  } catch (error) {
    unpacker.destroy()
    // Until it has let go, nobody else can read what still comes.
    await feeding.catch(() => {})
    if ((error as NodeJS.ErrnoException).code?.startsWith('Z_'))
      throw invalidBody(`The body is no valid ${name}.`)
    throw error
  }
}

async function feed(sent: Readable, unpacker: zlib.Gunzip): Promise<void> {
  let length = 0
  for await (const chunk of chunksOf(sent)) {
    length += chunk.length
    if (length > bodyLimits.maxSentBytes) {
      const error = tooLarge('The body is larger than 12 MiB.')
      unpacker.destroy(error)
      throw error
    }
    if (unpacker.destroyed) return
    if (!unpacker.write(chunk)) await drained(unpacker)
  }
  unpacker.end()
}

async function gather(
  stream: Readable,
  { maxBytes, message, share }: { maxBytes: number; message: string; share: BudgetShare },
): Promise<SentBody> {
  const body = new SentBody()
  for await (const chunk of chunksOf(stream)) {
    if (body.length + chunk.length > maxBytes) throw tooLarge(message)
    share.add(chunk.length)
    body.add(chunk)
  }
  return body
}

/** Leaving the loop early must not destroy the stream, and with it the connection. */
function chunksOf(stream: Readable): AsyncIterable<Buffer> {
  return stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
}
