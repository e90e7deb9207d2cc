import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const blockBytes = 16

/**
 * Places of entries as ids of events and back. The key is known to this process alone: places of another one mean nothing
 * here, and an id tells nothing. Places themselves would tell whoever may see some of the entries how many others there are.
 */
export class LivePlaces {
  readonly #block = Buffer.alloc(blockBytes)
  readonly #cipher: ReturnType<typeof createCipheriv>
  readonly #decipher: ReturnType<typeof createDecipheriv>

  constructor() {
    const key = randomBytes(16)
    // One block each, and no two that are the same: nothing needs to be chained.
    this.#cipher = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false)
    this.#decipher = createDecipheriv('aes-128-ecb', key, null).setAutoPadding(false)
  }

  idOf(place: number): string {
    this.#block.writeDoubleBE(place, 8)
    return this.#cipher.update(this.#block).toString('hex')
  }

  /** Undefined for whatever was not made here. */
  placeOf(id: string): number | undefined {
    if (!/^[\da-f]{32}$/.test(id)) return undefined
    const block = this.#decipher.update(Buffer.from(id, 'hex'))
    const place = block.readDoubleBE(8)
    return block.readBigUInt64BE(0) === 0n && Number.isSafeInteger(place) ? place : undefined
  }
}
