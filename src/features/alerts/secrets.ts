import { createHash, createHmac, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeWhole } from '../../core/base/files/disk.ts'
import type { SavedAlert } from './alert.ts'
import { alertKeyFile } from './key-file.ts'

export type WebhookSecrets = ReturnType<typeof webhookSecrets>

export const unreadableSecret =
  'The secret of a webhook was created with another key, so nothing is sent to it. Start the service with the file ' +
  'alert-key or the WELLHEAD_ALERT_KEY of that time, or remove the target, then add it again.'

/**
 * Secrets of webhooks. They are derived from a key that is not in the database, so that the catalog contains none. It has a
 * salt, and a mark that tells whether the key is the right one.
 */
export function webhookSecrets(dataDir: string, configured: string | undefined) {
  const path = join(dataDir, alertKeyFile.name)
  let key = configured
  // Installations without webhooks have no key. A missing one is not replaced before a secret is created with it, so that
  // it can be put back.
  const readKey = () => {
    if (key === undefined && existsSync(path)) key = readFileSync(path, 'utf8').trim() || undefined
    return key
  }
  const createKey = () => {
    writeWhole(path, `${randomBytes(32).toString('base64')}\n`, 0o600)
    return readKey() as string
  }
  const derive = (salt: string, from: string) =>
    `whsec_${createHmac('sha256', from).update(`wellhead webhook ${salt}`).digest('base64')}`
  const markOf = (secret: string) => createHash('sha256').update(secret).digest('hex').slice(0, 16)
  return {
    /** What the catalog stores. */
    create: (salt = randomBytes(24).toString('base64url')) =>
      `${salt}.${markOf(derive(salt, readKey() ?? createKey()))}`,
    /** Undefined if the secret was created with another key. */
    read: (stored: string) => {
      const [salt = '', mark] = stored.split('.')
      const from = readKey()
      const secret = from === undefined ? undefined : derive(salt, from)
      return secret !== undefined && markOf(secret) === mark ? secret : undefined
    },
  }
}

export function hasUnreadableSecret({ definition }: SavedAlert, secrets: WebhookSecrets): boolean {
  return definition.notify.some(({ secret }) => secret !== undefined && secrets.read(secret) === undefined)
}
