import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

export type Compression = 'gzip' | 'br'

const compressBy: Record<Compression, (body: Buffer) => Promise<Buffer>> = {
  gzip: (body) => promisify(gzip)(body, { level: 6 }),
  br: (body) =>
    promisify(brotliCompress)(body, {
      params: {
        // This quality takes about as long as gzip.
        [constants.BROTLI_PARAM_QUALITY]: 5,
        [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
      },
    }),
}

/** Smaller bodies fit into one packet uncompressed. */
const minCompressedBytes = 1024

/** These formats are compressed already. */
const compressedFormats = /^application\/vnd\.apache\.(?:parquet|arrow\b)/

export function isCompressible(contentType: string, body: Buffer): boolean {
  return body.length >= minCompressedBytes && !compressedFormats.test(contentType)
}

/** Compresses a body in Node's thread pool. Undefined if it gets no smaller. */
export async function compressed(coding: Compression, body: Buffer): Promise<Buffer | undefined> {
  const bytes = await compressBy[coding](body).catch(() => undefined)
  return bytes && bytes.length < body.length ? bytes : undefined
}

/** The process has one pool of four threads, which also reads and writes files. */
const maxAwaited = 2
let awaited = 0

export function canCompressNow(): boolean {
  return awaited < maxAwaited
}

/** Compresses for a waiting request. Undefined if it is of no use, or too many others wait already. */
export async function compressedNow(coding: Compression, body: Buffer): Promise<Buffer | undefined> {
  if (!canCompressNow()) return undefined
  awaited++
  try {
    return await compressed(coding, body)
  } finally {
    awaited--
  }
}
