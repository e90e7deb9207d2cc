import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'

/** A short-lived token. It is not stored: it says itself what it allows, signed with a key that its parent determines. */
const sessionPrefix = 'whs_'

/** Fits into the headers of every usual proxy. */
export const maxSessionLength = 4096

const shape = z.strictObject({
  /** Distinguishes sessions with the same rights. */
  id: z.string(),
  expiresMs: z.int(),
  scopes: z.array(z.string()),
  project: z.string().nullable(),
  parameters: z.record(z.string(), z.string()),
  requestsPerMinute: z.int().nullable(),
})

export type Session = z.output<typeof shape>

interface SessionParts {
  /** Id of the token that the session belongs to. */
  parent: string
  /** What is signed. */
  signed: string
  content: string
  signature: string
}

export function signSession(parent: string, session: Session, key: Buffer): string {
  const signed = `${sessionPrefix}${parent}.${Buffer.from(JSON.stringify(session)).toString('base64url')}`
  return `${signed}.${signatureOf(signed, key)}`
}

/** Undefined if the text cannot be a session. Nothing in it is to be trusted before `verifySession`. */
export function splitSession(token: string): SessionParts | undefined {
  if (token.length > maxSessionLength) return undefined
  const match = /^(whs_([0-9a-z-]{1,36})\.([\w-]+))\.([\w-]{43})$/.exec(token)
  if (match === null) return undefined
  const [, signed, parent, content, signature] = match as unknown as [string, string, string, string, string]
  return { parent, signed, content, signature }
}

/** Undefined if the key did not sign it. Whether it has expired is for the caller to check. */
export function verifySession(
  { signed, content, signature }: SessionParts,
  key: Buffer,
): Session | undefined {
  // Compares texts: several texts decode to the same bytes.
  if (!timingSafeEqual(Buffer.from(signatureOf(signed, key)), Buffer.from(signature))) return undefined
  return shape.parse(JSON.parse(Buffer.from(content, 'base64url').toString()))
}

/**
 * The key of a token's sessions. It changes with the secret of the token. The secret of the service keeps those who only read
 * the stored hashes, in a backup for example, from signing sessions.
 */
export function sessionKey(serviceSecret: string, tokenHash: Buffer): Buffer {
  return createHmac('sha256', serviceSecret).update('wellhead session\n').update(tokenHash).digest()
}

function signatureOf(signed: string, key: Buffer): string {
  return createHmac('sha256', key).update(signed).digest('base64url')
}
