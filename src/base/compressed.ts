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
export const minCompressedBytes = 1024

/** Compresses a body in Node's thread pool. Undefined where that is of no use. */
export async function compressed(coding: Compression, body: Buffer): Promise<Buffer | undefined> {
  if (body.length < minCompressedBytes) return undefined
  // A body that cannot be compressed is sent as it is.
  const bytes = await compressBy[coding](body).catch(() => undefined)
  return bytes && bytes.length < body.length ? bytes : undefined
}
