import { type Compression, compressed } from '../base/compressed.ts'

/** Compresses one body after the other, so that callers find the other threads of Node's pool free. */
export class Compressor {
  #last: Promise<unknown> = Promise.resolve()

  /** The body is looked up when its turn comes: a result that is gone by then need not be compressed. */
  async compress(coding: Compression, body: () => Buffer | undefined): Promise<Buffer | undefined> {
    const made = this.#last.then(() => {
      const plain = body()
      return plain && compressed(coding, plain)
    })
    this.#last = made
    return made
  }

  /** When everything that was asked for is done. */
  async settled(): Promise<void> {
    await this.#last
  }
}
