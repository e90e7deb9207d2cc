import { hash, randomInt } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { dataFiles } from '../base/files/data-files.ts'
import { writeWhole } from '../base/files/disk.ts'

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const secretLength = 32
const checksumLength = 6

/** A new token: a prefix for secret scanners, the secret, and a checksum that tells a typo from an unknown token. */
export function createToken(): string {
  const secret = randomSecret()
  return `wh_${secret}${checksum(secret)}`
}

export function randomSecret(): string {
  return Array.from({ length: secretLength }, () => base62[randomInt(base62.length)]).join('')
}

function checksum(secret: string): string {
  let rest = crc32(secret)
  let text = ''
  for (let i = 0; i < checksumLength; i++) {
    text = base62[rest % base62.length] + text
    rest = Math.floor(rest / base62.length)
  }
  return text
}

/** Whether a token was meant to be one of ours but is not what `createToken` returned. An admin may choose any text. */
export function isMistyped(token: string): boolean {
  if (!token.startsWith('wh_')) return false
  const match = /^wh_([0-9A-Za-z]{32,})([0-9A-Za-z]{6})$/.exec(token)
  return match === null || checksum(match[1] as string) !== match[2]
}

export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

export function loadAdminToken(dataDir: string, configured: string | undefined) {
  const path = join(dataDir, dataFiles.adminToken)
  const known = configured ?? readKept(path)
  const token = known ?? createToken()
  return {
    token,
    /** Whether this start created it and must show it. */
    made: known === undefined,
    /** Saves a new token. Called after a successful start, because a failed one does not show it. */
    keep: () => {
      if (known !== undefined) return
      mkdirSync(dataDir, { recursive: true, mode: 0o700 })
      // The token is shown once, so a power cut must not leave an empty file.
      writeWhole(path, `${token}\n`, 0o600)
    },
  }
}

function readKept(path: string): string | undefined {
  try {
    const token = readFileSync(path, 'utf8').trim()
    return token.length >= 16 ? token : undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
