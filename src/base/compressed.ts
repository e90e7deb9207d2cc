import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

export type Compression = 'gzip' | 'br'

const compressBy: Record<Compression, (body: Buffer) => Promise<Buffer>> = {
  gzip: (body) => promisify(gzip)(body, { level: 6 }),
  br: (body) =>
    promisify(brotliCompress)(body, {
      params: {
        // The quality that takes about as long as gzip.
        [constants.BROTLI_PARAM_QUALITY]: 5,
        [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
      },
    }),
}

/** Smaller bodies fit into one packet as they are. */
const minCompressedBytes = 1024

/** The engine compresses what is inside of these formats itself. */
const compressedFormats = /^application\/vnd\.apache\.(?:parquet|arrow\b)/

export function isCompressible(contentType: string, body: Buffer): boolean {
  return body.length >= minCompressedBytes && !compressedFormats.test(contentType)
}

/** Compresses a body in Node's thread pool. Undefined where that is of no use. */
export async function compressed(coding: Compression, body: Buffer): Promise<Buffer | undefined> {
  // A body that cannot be compressed is sent as it is.
  const bytes = await compressBy[coding](body).catch(() => undefined)
  return bytes && bytes.length < body.length ? bytes : undefined
}

/** The pool has four threads, which also read and write files, and is one for the whole process. */
const maxAwaited = 2
let awaited = 0

/** Whether a caller may wait for a compression now. */
export function canCompressNow(): boolean {
  return awaited < maxAwaited
}

/** Compresses for a caller who waits. Undefined where that is of no use, or others wait for theirs already. */
export async function compressedNow(coding: Compression, body: Buffer): Promise<Buffer | undefined> {
  if (!canCompressNow()) return undefined
  awaited++
  try {
    return await compressed(coding, body)
  } finally {
    awaited--
  }
}
