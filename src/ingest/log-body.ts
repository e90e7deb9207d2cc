import type { Readable } from 'node:stream'
import * as zlib from 'node:zlib'
import { drained } from '../base/drained.ts'
import { invalidBody, tooLarge, unsupportedMediaType } from '../base/errors.ts'
import type { BudgetShare } from './byte-budget.ts'

export const bodyLimits = { maxSentBytes: 12 * 2 ** 20, maxUnpackedBytes: 64 * 2 ** 20 } as const

type Unpacker = () => zlib.Gunzip | zlib.Inflate

const unpackers = new Map<string, Unpacker | undefined>([
  ['gzip', () => zlib.createGunzip()],
  ['x-gzip', () => zlib.createGunzip()],
  ['deflate', () => zlib.createInflate()],
  // Newer than the oldest Node that is supported.
  ['zstd', (zlib as unknown as { createZstdDecompress?: Unpacker }).createZstdDecompress],
])

/** Reads and unpacks a body; its own bounds and that of all bodies hold while it is read, not after. */
export async function readLogBody(
  sent: Readable | undefined,
  encoding: string | undefined,
  share: BudgetShare,
): Promise<Buffer> {
  if (sent === undefined) return Buffer.alloc(0)
  try {
    return await readAll(sent, encoding, share)
  } catch (error) {
    // What still comes is read and dropped: cut off in the middle, the sender would not hear the answer.
    sent.resume()
    throw error
  }
}

async function readAll(sent: Readable, encoding: string | undefined, share: BudgetShare): Promise<Buffer> {
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
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of chunksOf(stream)) {
    length += chunk.length
    if (length > maxBytes) throw tooLarge(message)
    share.add(chunk.length)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}

/** Leaving the loop early must not destroy the stream, and with it the connection. */
function chunksOf(stream: Readable): AsyncIterable<Buffer> {
  return stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
}
