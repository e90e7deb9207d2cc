import { hash, randomUUID } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { invalidParameter } from '../base/errors.ts'
import type { Key } from './caller.ts'
import { callerWith, type Rights } from './caller.ts'
import { type KnownTokens, limitsOf, taggedWith } from './known-tokens.ts'
import {
  commonRights,
  maxSessionLength,
  narrowedRights,
  sessionKey,
  signSession,
  splitSession,
  verifySession,
} from './session-token.ts'
import type { SignIns } from './sign-ins.ts'
import { maxSessionMinutes, type SessionFields } from './token.ts'

export type NewSession = ReturnType<Sessions['create']>

interface SessionsOptions {
  tokens: KnownTokens
  signIns: SignIns
  /** The secret of the service. */
  secret: string
  /** Its key is tried for an unknown token, so that the time is the same. */
  nobody: Key
  clock: Clock
}

const maxSessionMs = maxSessionMinutes * 60_000

/** Short-lived tokens with some rights of a token. They are not stored. */
export class Sessions {
  readonly #options: SessionsOptions

  constructor(options: SessionsOptions) {
    this.#options = options
  }

  create(key: Key, fields: SessionFields) {
    const { clock, secret } = this.#options
    const { id } = key.caller
    narrowedRights(this.#withPlan(key), fields)
    const rights = narrowedRights(key.rights, fields)
    const perMinute = key.limits.find((limit) => limit.id === id)?.perMinute ?? Infinity
    const requestsPerMinute = fields.requests_per_minute ?? null
    if (requestsPerMinute !== null && requestsPerMinute > perMinute) {
      const message = `The token is limited to ${perMinute} requests per minute; a session cannot have more.`
      throw invalidParameter('requests_per_minute', message)
    }
    const expiresMs = Math.min(clock.now() + fields.minutes * 60_000, key.validUntilMs)
    const { signIn } = key
    const session = {
      id: randomUUID(),
      expiresMs,
      ...rights,
      scopes: [...rights.scopes],
      requestsPerMinute,
      ...(signIn !== undefined && { signIn }),
    }
    const token = signSession(id, session, sessionKey(secret, key.hash))
    if (token.length > maxSessionLength) {
      const message =
        'The scopes and parameters do not fit into a session. Name only the scopes that it needs.'
      throw invalidParameter('scopes', message)
    }
    return { token, token_id: id, expires_at: new Date(expiresMs).toISOString(), ...rights }
  }

  /** The session with this token, with what its token still allows. */
  find(token: string): Key | undefined {
    const { tokens, signIns, secret, nobody } = this.#options
    const parts = splitSession(token)
    if (parts === undefined) return undefined
    const isKnown = tokens.get(parts.parent) !== undefined
    for (const parent of isKnown ? tokens.keysOf(parts.parent) : [nobody]) {
      const session = verifySession(parts, sessionKey(secret, parent.hash))
      if (session?.signedInMs !== undefined) return signIns.keyOf(parent, session.signedInMs, session)
      if (signIns.hasEnded(parts.parent, session?.signIn)) return undefined
      const rights = session && commonRights(parent.rights, session)
      if (!rights || !commonRights(this.#withPlan(parent), session)) continue
      const { id, tag } = parent.caller
      const perMinute = session.requestsPerMinute
      const plan = tokens.planOf(rights)
      const own = parent.limits.filter((limit) => limit.id === id)
      return {
        hash: parent.hash,
        rights,
        caller: callerWith({
          id,
          tag: taggedWith(`${tag} ${digestOf(rights)}`, plan),
          isSession: true,
          plan,
          ...rights,
        }),
        limits: limitsOf(
          rights,
          plan,
          perMinute === null ? own : [...own, { id: `${id} ${session.id}`, perMinute }],
        ),
        validFromMs: session.expiresMs - maxSessionMs,
        validUntilMs: Math.min(session.expiresMs, parent.validUntilMs),
        ownerUntilMs: parent.ownerUntilMs,
        signIn: session.signIn,
      }
    }
    return undefined
  }

  /** Sessions of a tenant's token cannot choose what the plan fixes. */
  #withPlan({ rights }: Key): Rights {
    const fixed = this.#options.tokens.planOf(rights)?.parameters
    return { ...rights, parameters: { ...fixed, ...rights.parameters } }
  }
}

function digestOf({ scopes, project, parameters }: Rights): string {
  return hash('sha256', JSON.stringify([scopes, project, parameters]), 'base64url')
}
