import type { Readable } from 'node:stream'
import * as zlib from 'node:zlib'
import { drained } from '../base/compressed.ts'
import { invalidBody, tooLarge, unsupportedMediaType } from '../base/errors.ts'
import type { BudgetShare } from './intake-limits.ts'

export const bodyLimits = { maxSentBytes: 12 * 2 ** 20, maxUnpackedBytes: 64 * 2 ** 20 } as const

export const bodyTooLarge = () => tooLarge('The body is larger than 12 MiB. Send smaller batches.')

const unpackedTooLarge = () => tooLarge('The decompressed body is larger than 64 MiB. Send smaller batches.')

type Unpacker = () => zlib.Gunzip | zlib.Inflate

/** Each chunk costs a turn of the event loop. */
const chunkSize = 64 * 1024

const unpackers = new Map<string, Unpacker | undefined>([
  ['gzip', () => zlib.createGunzip({ chunkSize })],
  ['x-gzip', () => zlib.createGunzip({ chunkSize })],
  ['deflate', () => zlib.createInflate({ chunkSize })],
  // Node 20 has no zstd.
  ['zstd', (zlib as unknown as { createZstdDecompress?: Unpacker }).createZstdDecompress],
])

/** First bytes of compressed data. Neither is valid UTF-8. */
const magicBytes = [
  { encoding: 'gzip', bytes: Buffer.from([0x1f, 0x8b]) },
  { encoding: 'zstd', bytes: Buffer.from([0x28, 0xb5, 0x2f, 0xfd]) },
]

/** What is wrong with a body that cannot be read because it is compressed and its header does not say so. */
export function compressionProblem(body: Buffer): string | undefined {
  const found = magicBytes.find(({ bytes }) => body.subarray(0, bytes.length).equals(bytes))
  if (!found) return undefined
  const { encoding } = found
  return unpackers.get(encoding) === undefined
    ? `The body is compressed with ${encoding}, which is not supported. Use gzip, and send Content-Encoding: gzip.`
    : `The body is compressed with ${encoding}. Send Content-Encoding: ${encoding}.`
}

/** Reads and decompresses a body. Its own limit and the shared budget apply while it is read. */
export async function readRequestBody(
  stream: Readable | undefined,
  encoding: string | undefined,
  share: BudgetShare,
): Promise<Buffer> {
  if (stream === undefined) return Buffer.alloc(0)
  try {
    const name = (encoding ?? '').trim().toLowerCase()
    if (name === '' || name === 'identity') {
      return await gather(stream, bodyLimits.maxSentBytes, bodyTooLarge, share)
    }
    const unpacker = unpackers.get(name)?.()
    if (unpacker) return await unpack(stream, unpacker, name, share)
    throw unsupportedMediaType(
      `Content encoding "${name}" is not supported. Use gzip or deflate, or send plain text.`,
    )
  } catch (error) {
    // The rest is read and dropped: a sender that is cut off would not see the response.
    stream.resume()
    throw error
  }
}

async function unpack(
  stream: Readable,
  unpacker: zlib.Gunzip | zlib.Inflate,
  encoding: string,
  share: BudgetShare,
): Promise<Buffer> {
  const failed = new Promise<never>((_resolve, reject) => unpacker.once('error', reject))
  failed.catch(() => {})
  const feeding = feed(stream, unpacker)
  feeding.catch(() => {})
  try {
    const unpacked = gather(unpacker, bodyLimits.maxUnpackedBytes, unpackedTooLarge, share)
    const [body] = await Promise.all([Promise.race([unpacked, failed]), feeding])
    return body
  } catch (error) {
    unpacker.destroy()
    // Only one reader at a time can consume the stream.
    await feeding.catch(() => {})
    const isCorrupt = (error as NodeJS.ErrnoException).code?.startsWith('Z_')
    throw isCorrupt ? invalidBody(`The body is not valid ${encoding}.`) : error
  }
}

async function feed(stream: Readable, unpacker: zlib.Gunzip | zlib.Inflate): Promise<void> {
  let length = 0
  for await (const chunk of chunksOf(stream)) {
    length += chunk.length
    if (length > bodyLimits.maxSentBytes) {
      const error = bodyTooLarge()
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
  maxBytes: number,
  tooLarge: () => Error,
  share: BudgetShare,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of chunksOf(stream)) {
    length += chunk.length
    if (length > maxBytes) throw tooLarge()
    share.add(chunk.length)
    chunks.push(chunk)
  }
  // Memory of its own can move to a worker thread; that of a socket and of Node's pool cannot.
  const body = Buffer.allocUnsafeSlow(length)
  chunks.reduce((at, chunk) => at + chunk.copy(body, at), 0)
  return body
}

/** Leaving the loop early must not destroy the stream, and with it the connection. */
function chunksOf(stream: Readable): AsyncIterable<Buffer> {
  return stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
}
