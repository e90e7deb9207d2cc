import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { invalidParameter } from '../base/errors.ts'
import { covers, hasRole, type Rights } from './caller.ts'
import type { SessionFields } from './token.ts'

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
  /** Of a cookie: when it began. It has all rights of its token or person. */
  signedInMs: z.int().optional(),
  /** Id of the cookie that it was created with. */
  signIn: z.string().optional(),
})

export type Session = z.output<typeof shape>

type SessionParts = NonNullable<ReturnType<typeof splitSession>>

export function signSession(parent: string, session: Session, key: Buffer): string {
  const signed = `${sessionPrefix}${parent}.${Buffer.from(JSON.stringify(session)).toString('base64url')}`
  return `${signed}.${signatureOf(signed, key)}`
}

/** Undefined if the text cannot be a session. Nothing in it is to be trusted before `verifySession`. */
export function splitSession(token: string) {
  if (token.length > maxSessionLength) return undefined
  const match = /^(whs_([0-9a-z-]{1,36})\.([\w-]+))\.([\w-]{43})$/.exec(token)
  if (match === null) return undefined
  const [, signed, parent, content, signature] = match as unknown as [string, string, string, string, string]
  // The parent is the id of the token that the session belongs to.
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

/** Changes with the token's secret; the secret of the service keeps readers of the stored hashes from signing sessions. */
export function sessionKey(serviceSecret: string, tokenHash: Buffer): Buffer {
  return createHmac('sha256', serviceSecret).update('wellhead session\n').update(tokenHash).digest()
}

function signatureOf(signed: string, key: Buffer): string {
  return createHmac('sha256', key).update(signed).digest('base64url')
}

/** The rights of a new session: those of its token, or narrower ones. Throws if they would be wider. */
export function narrowedRights(token: Rights, requested: SessionFields): Rights {
  const { scopes = token.scopes, project, parameters = {} } = requested
  const wider = scopes.find((scope) => !token.scopes.some((granted) => covers(granted, scope)))
  if (wider !== undefined) {
    throw invalidParameter('scopes', `The token does not have the scope ${wider}; a session cannot have it.`)
  }
  if (token.project !== null && (project ?? token.project) !== token.project) {
    const message = `The token is limited to project ${token.project}; omit project or use this one.`
    throw invalidParameter('project', message)
  }
  for (const [name, value] of Object.entries(parameters)) {
    if (Object.hasOwn(token.parameters, name) && token.parameters[name] !== value) {
      const message = `The token is limited to ${name} ${token.parameters[name]}; omit ${name}.`
      throw invalidParameter(`parameters.${name}`, message)
    }
  }
  const rights = {
    scopes: [...new Set(scopes)],
    project: project ?? token.project,
    parameters: { ...token.parameters, ...parameters },
  }
  if (hasRole(scopes) && (rights.project !== null || Object.keys(rights.parameters).length > 0)) {
    const message =
      'A session with the scope admin, deploy, edit or read cannot be limited. Name other scopes, such as query.'
    throw invalidParameter('scopes', message)
  }
  return rights
}

/** What a session and its token both allow now. Undefined if they have nothing in common anymore. */
export function commonRights(token: Rights, session: Rights): Rights | undefined {
  const scopes = session.scopes.flatMap((scope) =>
    token.scopes.some((granted) => covers(granted, scope))
      ? scope
      : token.scopes.filter((granted) => covers(scope, granted)),
  )
  const parameters = { ...token.parameters, ...session.parameters }
  const differs =
    (token.project !== null && session.project !== null && token.project !== session.project) ||
    Object.entries(token.parameters).some(([name, value]) => parameters[name] !== value)
  if (scopes.length === 0 || differs) return undefined
  return { scopes: [...new Set(scopes)], project: token.project ?? session.project, parameters }
}
