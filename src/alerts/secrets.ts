import { createHash, createHmac, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeWhole } from '../base/files/write-whole.ts'
import { onFirstUse } from '../base/on-first-use.ts'

export type WebhookSecrets = ReturnType<typeof webhookSecrets>

/**
 * Secrets of webhooks. They are derived from a key that is not in the database, so that neither a backup nor the
 * catalog contains them. The catalog has a salt, and a mark that tells whether the key is the right one.
 */
export function webhookSecrets(dataDir: string, configured: string | undefined) {
  // Installations without webhooks have no key.
  const key = onFirstUse(() => configured ?? loadKey(join(dataDir, 'alert-key')))
  const derive = (salt: string) =>
    `whsec_${createHmac('sha256', key()).update(`wellhead webhook ${salt}`).digest('base64')}`
  const markOf = (secret: string) => createHash('sha256').update(secret).digest('hex').slice(0, 16)
  return {
    /** What the catalog stores. */
    create: (salt = randomBytes(24).toString('base64url')) => `${salt}.${markOf(derive(salt))}`,
    /** Undefined if the secret was created with another key. */
    read: (stored: string) => {
      const [salt = '', mark] = stored.split('.')
      const secret = derive(salt)
      return markOf(secret) === mark ? secret : undefined
    },
  }
}

function loadKey(path: string): string {
  if (!existsSync(path)) writeWhole(path, `${randomBytes(32).toString('base64')}\n`, 0o600)
  return readFileSync(path, 'utf8').trim()
}
