import { createHash, createHmac, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeWhole } from '../base/files/write-whole.ts'
import { onFirstUse } from '../base/on-first-use.ts'

/**
 * Secrets of webhooks. They are derived from a key that is not in the database, so that neither a backup nor the
 * catalog contains them. The catalog has a salt, and a mark that tells whether the key is the right one.
 */
export class WebhookSecrets {
  /** Read at the first use, so that installations without webhooks have no key. */
  readonly #key: () => string

  constructor(dataDir: string, configured: string | undefined) {
    this.#key = onFirstUse(() => configured ?? loadKey(join(dataDir, 'alert-key')))
  }

  /** What the catalog stores. */
  create(): string {
    const salt = randomBytes(24).toString('base64url')
    return `${salt}.${markOf(this.#derive(salt))}`
  }

  /** Undefined if the secret was created with another key. */
  read(stored: string): string | undefined {
    const [salt = '', mark] = stored.split('.')
    const secret = this.#derive(salt)
    return markOf(secret) === mark ? secret : undefined
  }

  #derive(salt: string): string {
    return `whsec_${createHmac('sha256', this.#key()).update(`wellhead webhook ${salt}`).digest('base64')}`
  }
}

function markOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, 16)
}

function loadKey(path: string): string {
  if (!existsSync(path)) writeWhole(path, `${randomBytes(32).toString('base64')}\n`, 0o600)
  return readFileSync(path, 'utf8').trim()
}
