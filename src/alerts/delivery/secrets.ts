import { createHash, createHmac, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeWhole } from '../../base/files/write-whole.ts'
import { onFirstUse } from '../../base/on-first-use.ts'
import type { Target } from '../alert.ts'

type StoredSecret = NonNullable<Target['secret']>

const keyFile = 'alert-key'

/**
 * Secrets of webhooks. They are derived from a key that is not in the database, so that neither a backup nor the
 * catalog contains them.
 */
export class WebhookSecrets {
  /** Read at the first use, so that installations without webhooks have no key. */
  readonly #key: () => string

  constructor(key: () => string) {
    this.#key = onFirstUse(key)
  }

  create(): StoredSecret {
    const salt = randomBytes(24).toString('base64url')
    return { salt, mark: markOf(this.#derive(salt)) }
  }

  /** Undefined if the secret was created with another key. */
  read({ salt, mark }: StoredSecret): string | undefined {
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

/** The configured key, the one in the data directory, or a new one. */
export function loadAlertKey(dataDir: string, configured: string | undefined): string {
  if (configured !== undefined) return configured
  const path = join(dataDir, keyFile)
  if (!existsSync(path)) writeWhole(path, `${randomBytes(32).toString('base64')}\n`, 0o600)
  return readFileSync(path, 'utf8').trim()
}
