import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** Encrypts the cursors of entries, which would tell a tenant how many entries others send; ids of other processes are foreign. */
export class EventIds {
  readonly #block = Buffer.alloc(16)
  readonly #cipher: ReturnType<typeof createCipheriv>
  readonly #decipher: ReturnType<typeof createDecipheriv>

  constructor() {
    const key = randomBytes(16)
    // ECB is safe here: each id is one block, and no two are equal.
    this.#cipher = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false)
    this.#decipher = createDecipheriv('aes-128-ecb', key, null).setAutoPadding(false)
  }

  idOf(cursor: number): string {
    this.#block.writeDoubleBE(cursor, 8)
    return this.#cipher.update(this.#block).toString('hex')
  }

  /** Undefined for an id that was not made here. */
  cursorOf(id: string): number | undefined {
    if (!/^[\da-f]{32}$/.test(id)) return undefined
    const block = this.#decipher.update(Buffer.from(id, 'hex'))
    const cursor = block.readDoubleBE(8)
    return block.readBigUInt64BE(0) === 0n && Number.isSafeInteger(cursor) ? cursor : undefined
  }
}
