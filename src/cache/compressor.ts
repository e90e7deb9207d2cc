import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Compression } from './cached-result.ts'

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

/** Compresses one body after the other, in Node's thread pool, so that callers find its other threads free. */
export class Compressor {
  #last: Promise<unknown> = Promise.resolve()

  /** The body is looked up when its turn comes: a result that is gone by then need not be compressed. */
  compress(coding: Compression, body: () => Buffer | undefined, use: (compressed: Buffer) => void): void {
    this.#last = this.#last.then(async () => {
      const plain = body()
      if (plain === undefined) return
      // What cannot be compressed is sent as it is.
      const compressed = await compressBy[coding](plain).catch(() => undefined)
      if (compressed !== undefined) use(compressed)
    })
  }

  /** When everything that was asked for is done. */
  async settled(): Promise<void> {
    await this.#last
  }
}
