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
  type Session,
  sessionKey,
  signSession,
  splitSession,
  verifySession,
} from './session-token.ts'
import { maxSessionMinutes, type SessionFields } from './token.ts'

export type NewSession = ReturnType<Sessions['create']>

export interface SessionCookie {
  text: string
  expiresMs: number
}

interface SessionsOptions {
  tokens: KnownTokens
  /** The secret of the service. */
  secret: string
  /** Its key is tried for an unknown token, so that the time is the same. */
  nobody: Key
  clock: Clock
}

const maxSessionMs = maxSessionMinutes * 60_000
/** Cookies of one token that ended. A person's are in the catalog. */
const maxEnded = 1000
/** How far the clocks of services may differ. */
const clockToleranceMs = 60_000

/**
 * Signed texts that are not stored: short-lived tokens with some rights of a token, and cookies of browsers that signed in, with all
 * rights of a token or person. Cookies end when their owner signs out, with the sessions that were created with them.
 */
export class Sessions {
  readonly #options: SessionsOptions
  /** Ids of cookies whose owners signed out, by owner: nobody can make the service forget those of others. */
  readonly #ended = new Map<string, Set<string>>()

  constructor(options: SessionsOptions) {
    this.#options = options
  }

  create(key: Key, fields: SessionFields) {
    const { id } = key.caller
    narrowedRights(this.#withPlan(key), fields)
    const rights = narrowedRights(key.rights, fields)
    const perMinute = key.limits.find((limit) => limit.id === id)?.perMinute ?? Infinity
    const requestsPerMinute = fields.requests_per_minute ?? null
    if (requestsPerMinute !== null && requestsPerMinute > perMinute) {
      const message = `The token is limited to ${perMinute} requests per minute; a session cannot have more.`
      throw invalidParameter('requests_per_minute', message)
    }
    const expiresMs = Math.min(this.#options.clock.now() + fields.minutes * 60_000, key.validUntilMs)
    const { signIn } = key
    const session = { id: randomUUID(), expiresMs, ...rights, scopes: [...rights.scopes], requestsPerMinute }
    const token = this.#sign(key, signIn === undefined ? session : { ...session, signIn })
    if (token.length > maxSessionLength) {
      const message =
        'The scopes and parameters do not fit into a session. Name only the scopes that it needs.'
      throw invalidParameter('scopes', message)
    }
    return { token, token_id: id, expires_at: new Date(expiresMs).toISOString(), ...rights }
  }

  /** Lasts for the length after its last use, and twice as long after signing in. */
  createCookie(key: Key, lengthMs: number, known?: Key['cookie']): SessionCookie {
    const nowMs = this.#options.clock.now()
    const begun = known ?? { id: randomUUID(), signedInMs: nowMs }
    const expiresMs = Math.min(nowMs + lengthMs, begun.signedInMs + 2 * lengthMs, key.ownerUntilMs)
    const rights = { scopes: [], project: null, parameters: {}, requestsPerMinute: null }
    return { text: this.#sign(key, { ...begun, ...rights, expiresMs }), expiresMs }
  }

  /** The session or cookie with this text, with what its token still allows. Undefined if its owner signed out. */
  find(text: string): Key | undefined {
    const { tokens, secret, nobody } = this.#options
    const parts = splitSession(text)
    if (parts === undefined) return undefined
    const isKnown = tokens.get(parts.parent) !== undefined
    for (const parent of isKnown ? tokens.keysOf(parts.parent) : [nobody]) {
      const session = verifySession(parts, sessionKey(secret, parent.hash))
      if (session === undefined) continue
      const isCookie = session.signedInMs !== undefined
      if (this.hasEnded(parts.parent, isCookie ? session.id : session.signIn)) return undefined
      const key = isCookie ? cookieKey(parent, session) : this.#keyOf(parent, session)
      if (key) return key
    }
    return undefined
  }

  hasEnded(owner: string, id: string | undefined): boolean {
    return id !== undefined && this.#ended.get(owner)?.has(id) === true
  }

  end(owner: string, ids: readonly string[]): void {
    const ended = new Set([...(this.#ended.get(owner) ?? []), ...ids])
    this.#ended.set(owner, new Set([...ended].slice(-maxEnded)))
  }

  forget(owner: string): void {
    this.#ended.delete(owner)
  }

  #sign({ caller, hash }: Key, session: Session): string {
    return signSession(caller.id, session, sessionKey(this.#options.secret, hash))
  }

  #keyOf(parent: Key, session: Session): Key | undefined {
    const rights = commonRights(parent.rights, session)
    if (!rights || !commonRights(this.#withPlan(parent), session)) return undefined
    const { id, tag } = parent.caller
    const perMinute = session.requestsPerMinute
    const plan = this.#options.tokens.planOf(rights)
    const own = parent.limits.filter((limit) => limit.id === id)
    if (perMinute !== null) own.push({ id: `${id} ${session.id}`, perMinute })
    const ownTag = taggedWith(`${tag} ${digestOf(rights)}`, plan)
    return {
      hash: parent.hash,
      rights,
      caller: callerWith({ id, tag: ownTag, isSession: true, plan, ...rights }),
      limits: limitsOf(rights, plan, own),
      validFromMs: session.expiresMs - maxSessionMs,
      validUntilMs: Math.min(session.expiresMs, parent.validUntilMs),
      ownerUntilMs: parent.ownerUntilMs,
      signIn: session.signIn,
    }
  }

  /** Sessions of a tenant's token cannot choose what the plan fixes. */
  #withPlan({ rights }: Key): Rights {
    const fixed = this.#options.tokens.planOf(rights)?.parameters
    return { ...rights, parameters: { ...fixed, ...rights.parameters } }
  }
}

function cookieKey(parent: Key, { id, expiresMs, signedInMs = 0 }: Session): Key {
  return {
    ...parent,
    validFromMs: signedInMs - clockToleranceMs,
    validUntilMs: Math.min(expiresMs, parent.validUntilMs),
    cookie: { id, signedInMs },
    signIn: id,
  }
}

function digestOf({ scopes, project, parameters }: Rights): string {
  return hash('sha256', JSON.stringify([scopes, project, parameters]), 'base64url')
}
