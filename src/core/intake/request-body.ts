import type { Hash } from 'node:crypto'
import { finished, type Readable } from 'node:stream'
import { setImmediate as giveWay } from 'node:timers/promises'
import * as zlib from 'node:zlib'
import { invalidBody, tooLarge, unsupportedMediaType } from '../base/errors.ts'
import type { BudgetShare } from './intake-limits.ts'

interface BodyLimits {
  maxSentBytes: number
  maxUnpackedBytes: number
  tooLarge: () => Error
  unpackedTooLarge: () => Error
}

export const bodyTooLarge = () => tooLarge('The body is larger than 12 MiB. Send smaller batches.')

export const bodyLimits: BodyLimits = {
  maxSentBytes: 12 * 2 ** 20,
  maxUnpackedBytes: 64 * 2 ** 20,
  tooLarge: bodyTooLarge,
  unpackedTooLarge: () => tooLarge('The decompressed body is larger than 64 MiB. Send smaller batches.'),
}

/** The first use of memory takes a processor longer than a copy: 64 MiB take 75 ms. */
const maxCopiedAtOnce = 2 * 2 ** 20

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

/** Reads and decompresses a body. Its own limit and the shared budget apply while it is read. The digest is of the content. */
export async function readRequestBody(
  stream: Readable | undefined,
  encoding: string | undefined,
  share: BudgetShare,
  digest?: Hash,
  limits = bodyLimits,
): Promise<Buffer> {
  if (stream === undefined) return Buffer.alloc(0)
  try {
    const name = (encoding ?? '').trim().toLowerCase()
    if (name === '' || name === 'identity') {
      return await gather(stream, limits.maxSentBytes, limits.tooLarge, share, digest)
    }
    const unpacker = unpackers.get(name)?.()
    if (unpacker) return await unpack(stream, unpacker, name, share, digest, limits)
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
  digest: Hash | undefined,
  limits: BodyLimits,
): Promise<Buffer> {
  let sent = 0
  const onData = (chunk: Buffer) => {
    sent += chunk.length
    if (sent > limits.maxSentBytes) unpacker.destroy(limits.tooLarge())
  }
  // Unlike `pipeline`, `pipe` leaves the connection open for the response.
  stream.on('data', onData).pipe(unpacker)
  const forget = finished(stream, (error) => error && unpacker.destroy(error))
  try {
    return await gather(unpacker, limits.maxUnpackedBytes, limits.unpackedTooLarge, share, digest)
  } catch (error) {
    const isCorrupt = (error as NodeJS.ErrnoException).code?.startsWith('Z_')
    throw isCorrupt ? invalidBody(`The body is not valid ${encoding}.`) : error
  } finally {
    forget()
    stream.off('data', onData).unpipe(unpacker)
    unpacker.destroy()
  }
}

async function gather(
  stream: Readable,
  maxBytes: number,
  tooLarge: () => Error,
  share: BudgetShare,
  digest: Hash | undefined,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  // Leaving the loop early must not destroy the stream, and with it the connection.
  for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxBytes) throw tooLarge()
    share.add(chunk.length)
    digest?.update(chunk)
    chunks.push(chunk)
  }
  // Memory of its own can move to a worker thread; that of a socket and of Node's pool cannot.
  const body = Buffer.allocUnsafeSlow(length)
  let at = 0
  let since = 0
  for (const chunk of chunks) {
    if (at - since >= maxCopiedAtOnce) {
      since = at
      await giveWay()
    }
    at += chunk.copy(body, at)
  }
  return body
}
