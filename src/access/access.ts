import { hash, randomUUID, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../base/clock.ts'
import { invalidParameter, rateLimited, unauthorized } from '../base/errors.ts'
import { hashToken, isMistyped } from './admin-token.ts'
import { type Caller, callerWith, type Rights } from './caller.ts'
import { networkOf, type Quota, type RequestLimit, RequestQuota } from './request-quota.ts'
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
import { maxSessionMinutes, type SessionFields, type StoredToken } from './token.ts'

interface RecognizedToken {
  readonly caller: Caller
  readonly limits: readonly RequestLimit[]
}

/** A token as it is stored, of which there may be many. Its keys are created when they are used. */
interface KnownToken {
  readonly id: string
  readonly token: StoredToken
  readonly tag: string
  readonly mayQueryGateway: boolean
  /** It works only while this token may create it. */
  readonly madeBy: string | undefined
}

/** A secret of a token, or a session. */
interface Key extends RecognizedToken {
  /** The hash of the secret; a session has that of its token. */
  readonly hash: Buffer
  readonly rights: Rights
  /** A clock that is set back must not prolong a session beyond the longest one. */
  readonly validFromMs: number
  readonly validUntilMs: number
  /** When the token or person ends; a session may end earlier. */
  readonly ownerUntilMs: number
  /** What a cookie says of itself. */
  readonly cookie?: { readonly id: string; readonly signedInMs: number }
  /** Id of the cookie that it is or was created with, and ends with. */
  readonly signIn?: string | undefined
}

export type SessionCookie = NonNullable<ReturnType<Access['createCookie']>>
export type NewSession = NonNullable<ReturnType<Access['createSession']>>

const maxRecent = 1000
const maxLimited = 50_000
const maxFailingAddresses = 10_000

const maxSessionMs = maxSessionMinutes * 60_000
const maxEnded = 10_000
/** How far the clocks of services may differ. */
const clockToleranceMs = 60_000

const failedTooOften =
  'Too many requests with an invalid token from this address. Check the token; valid tokens are not limited.'

/** The valid tokens, by the hash of their secret. A request costs one hash and one lookup. */
export class Access {
  readonly #clock: Clock
  readonly #adminToken: string
  readonly #tokens = new Map<string, KnownToken>()
  /** By the hash of a secret. */
  readonly #idOf = new Map<string, string>()
  /** By the hash of a secret, those that were used lately. Cleared on every change. */
  readonly #keys = new LRUCache<string, Key>({ max: maxRecent })
  readonly #quota = new RequestQuota(maxLimited)
  readonly #failed = new RequestQuota(maxFailingAddresses)
  readonly #failuresPerMinute: number
  readonly #lastUse = new Map<string, number>()
  readonly #lastAddress = new Map<string, string>()
  /** Valid tokens by their text, so that the same one is not hashed for every request. Cleared on every change. */
  readonly #recent = new LRUCache<string, Key>({ max: maxRecent })
  readonly #onChange: (() => void)[] = []
  /** Ids of cookies whose owners signed out here. */
  readonly #ended = new LRUCache<string, true>({ max: maxEnded })
  /** Compared with if no key matches, so that the time is the same. */
  readonly #nobody: Key
  #changes = 0

  constructor(adminToken: string, clock: Clock, failuresPerMinute = Infinity) {
    this.#clock = clock
    this.#failuresPerMinute = failuresPerMinute
    this.#adminToken = adminToken
    const hash = hashToken(adminToken).toString('hex')
    this.put('admin', tokenWith(hash, ['admin']))
    const admin = this.#keyOf(hash) as Key
    this.#nobody = { ...admin, hash: Buffer.alloc(32), validUntilMs: -Infinity }
  }

  /** Throws the same error, after the same work, for unknown, revoked and expired tokens. */
  admit(token: string | undefined, address = '') {
    const nowMs = this.#clock.now()
    const key = this.#find(token, nowMs)
    if (!key) {
      // A request without a token is not an attempt to guess one.
      if (token === undefined) throw unauthorized(false)
      this.countFailure(address)
      throw unauthorized(isMistyped(token))
    }
    if (address !== '') this.#lastAddress.set(key.caller.id, address)
    return { caller: key.caller, quota: this.count(key) }
  }

  /** Throws if there were too many of this address. */
  countFailure(address: string): void {
    const limit = { id: networkOf(address), perMinute: this.#failuresPerMinute }
    const failures = this.#failed.take([limit], this.#clock.now())
    if (failures?.exceeded) throw rateLimited(failedTooOften, failures.resetSeconds)
  }

  /** The token's caller, without counting the request; undefined if the token is not valid. */
  recognize(token: string): RecognizedToken | undefined {
    const nowMs = this.#clock.now()
    const known = this.#recent.get(token)
    const key = known && isValid(known, nowMs) ? known : this.#find(token, nowMs)
    if (key === undefined) return undefined
    if (known === key) this.#lastUse.set(key.caller.id, nowMs)
    else this.#recent.set(token, key)
    return key
  }

  count({ limits }: RecognizedToken): Quota | undefined {
    return this.#quota.take(limits, this.#clock.now())
  }

  /** Returns a check of whether the token is still valid and its permissions are unchanged. */
  watch(token: string | undefined, caller: Caller): () => boolean {
    const key = this.#find(token, this.#clock.now())
    if (key?.caller.tag !== caller.tag) return () => false
    const { id } = caller
    const known = this.#tokens.get(id)
    const hash = key.hash.toString('hex')
    return () =>
      this.#tokens.get(id) === known &&
      this.#keyOf(hash) !== undefined &&
      !this.#ended.has(key.signIn ?? '') &&
      isValid(key, this.#clock.now())
  }

  onChange(listener: () => void): void {
    this.#onChange.push(listener)
  }

  /** With a secret of the token, the session ends when that secret does, so that an old one gives no more than its overlap. */
  createSession(id: string, fields: SessionFields, secret?: string) {
    const nowMs = this.#clock.now()
    const own = this.#tokens.get(id)?.token.hash
    const key = secret === undefined ? own && this.#keyOf(own) : this.#find(secret, nowMs)
    if (!key || key.caller.id !== id || !isValid(key, nowMs)) return undefined
    const rights = narrowedRights(key.rights, fields)
    const perMinute = key.limits[0]?.perMinute ?? Infinity
    const requestsPerMinute = fields.requests_per_minute ?? null
    if (requestsPerMinute !== null && requestsPerMinute > perMinute) {
      const message = `The token is limited to ${perMinute} requests per minute; a session cannot have more.`
      throw invalidParameter('requests_per_minute', message)
    }
    const expiresMs = Math.min(nowMs + fields.minutes * 60_000, key.validUntilMs)
    const { signIn } = key
    const session = {
      id: randomUUID(),
      ...{ expiresMs, ...rights, scopes: [...rights.scopes], requestsPerMinute },
      ...(signIn !== undefined && { signIn }),
    }
    const token = signSession(id, session, sessionKey(this.#adminToken, key.hash))
    if (token.length > maxSessionLength) {
      const message =
        'The scopes and parameters do not fit into a session. Name only the scopes that it needs.'
      throw invalidParameter('scopes', message)
    }
    return { token, token_id: id, expires_at: new Date(expiresMs).toISOString(), ...rights }
  }

  /** A cookie for the console, with the rights of the token. A session or a cookie stays what it is: another one would outlive it. */
  createCookie(token: string, lengthMs: number) {
    const nowMs = this.#clock.now()
    const key = this.#find(token, nowMs)
    if (key?.caller.isSession || key?.cookie) return { text: token, expiresMs: key.validUntilMs }
    return key && this.#cookie(key, lengthMs)
  }

  /** A cookie of a person who has just signed in. */
  createCookieOf(id: string, lengthMs: number): SessionCookie | undefined {
    const key = this.#keyOf(this.#tokens.get(id)?.token.hash ?? '')
    return key && this.#cookie(key, lengthMs)
  }

  /** A cookie that lasts longer, if it has been used for a while. */
  renewCookie(text: string, lengthMs: number): SessionCookie | undefined {
    const key = this.#find(text, this.#clock.now())
    const renewed = key?.cookie && this.#cookie(key, lengthMs, key.cookie)
    return renewed && renewed.expiresMs - (key as Key).validUntilMs > lengthMs / 12 ? renewed : undefined
  }

  /** The id of a valid cookie and of its owner. */
  cookieIn(text: string): { id: string; owner: string } | undefined {
    const key = this.#find(text, this.#clock.now())
    return key?.cookie && { id: key.cookie.id, owner: key.caller.id }
  }

  endCookies(ids: readonly string[]): void {
    if (ids.length === 0) return
    for (const id of ids) this.#ended.set(id, true)
    this.#recent.clear()
    for (const listener of this.#onChange) listener()
  }

  /** Lasts for the length after its last use, and twice as long after signing in. */
  #cookie({ hash, caller, ownerUntilMs }: Key, lengthMs: number, known?: Key['cookie']) {
    const nowMs = this.#clock.now()
    const begun = known ?? { id: randomUUID(), signedInMs: nowMs }
    const expiresMs = Math.min(nowMs + lengthMs, begun.signedInMs + 2 * lengthMs, ownerUntilMs)
    const rights = { scopes: [], project: null, parameters: {}, requestsPerMinute: null }
    const session = { ...begun, ...rights, expiresMs }
    return { text: signSession(caller.id, session, sessionKey(this.#adminToken, hash)), expiresMs }
  }

  #find(token: string | undefined, nowMs: number): Key | undefined {
    const hash = hashToken(token ?? '')
    const key = this.#keyOf(hash.toString('hex')) ?? this.#nobody
    const isSame = timingSafeEqual(hash, key.hash)
    const found = isSame ? key : this.#findSession(token ?? '')
    if (!found || !isValid(found, nowMs)) return undefined
    this.#lastUse.set(found.caller.id, nowMs)
    return found
  }

  /** The session with this token, with what its token still allows. */
  #findSession(token: string): Key | undefined {
    const parts = splitSession(token)
    if (parts === undefined) return undefined
    const known = this.#tokens.get(parts.parent)
    const parents = known && hashesOf(known.token).flatMap((hash) => this.#keyOf(hash) ?? [])
    for (const parent of parents ?? [this.#nobody]) {
      const session = verifySession(parts, sessionKey(this.#adminToken, parent.hash))
      if (session?.signedInMs !== undefined) return this.#cookieKey(parent, session.signedInMs, session)
      if (this.#ended.has(session?.signIn ?? '')) return undefined
      const rights = session && commonRights(parent.rights, session)
      if (!rights) continue
      const { id, tag } = parent.caller
      const perMinute = session.requestsPerMinute
      return {
        hash: parent.hash,
        rights,
        caller: callerWith({ id, tag: `${tag} ${digestOf(rights)}`, isSession: true, ...rights }),
        limits:
          perMinute === null ? parent.limits : [...parent.limits, { id: `${id} ${session.id}`, perMinute }],
        validFromMs: session.expiresMs - maxSessionMs,
        validUntilMs: Math.min(session.expiresMs, parent.validUntilMs),
        ownerUntilMs: parent.ownerUntilMs,
        signIn: session.signIn,
      }
    }
    return undefined
  }

  #cookieKey(parent: Key, signedInMs: number, { id, expiresMs }: Session): Key | undefined {
    if (this.#ended.has(id)) return undefined
    return {
      ...parent,
      validFromMs: signedInMs - clockToleranceMs,
      validUntilMs: Math.min(expiresMs, parent.validUntilMs),
      cookie: { id, signedInMs },
      signIn: id,
    }
  }

  put(id: string, token: StoredToken, mayQueryGateway = false, madeBy?: string): void {
    this.#removeKeys(id)
    this.#tokens.set(id, { id, token, tag: `${id}.${++this.#changes}`, mayQueryGateway, madeBy })
    for (const hash of hashesOf(token)) this.#idOf.set(hash, id)
    for (const listener of this.#onChange) listener()
  }

  #keyOf(hash: string): Key | undefined {
    const used = this.#keys.get(hash)
    if (used) return used
    const known = this.#tokens.get(this.#idOf.get(hash) ?? '')
    const key = known && this.#backed(keyWith(known, hash), known.madeBy)
    if (key) this.#keys.set(hash, key)
    return key
  }

  /** A link ends with the token that created it, and with its right to create links. */
  #backed(key: Key, madeBy: string | undefined): Key | undefined {
    if (madeBy === undefined) return key
    const maker = this.#tokens.get(madeBy)
    const { caller, validUntilMs } = (maker && keyWith(maker, maker.token.hash)) ?? {}
    const mayShare = caller?.isAdmin || caller?.role === 'editor'
    return mayShare ? { ...key, validUntilMs: Math.min(key.validUntilMs, validUntilMs as number) } : undefined
  }

  remove(id: string): void {
    this.#removeKeys(id)
    this.#quota.forget(id)
    this.#lastUse.delete(id)
    this.#lastAddress.delete(id)
    for (const listener of this.#onChange) listener()
  }

  lastUse(id: string): number | undefined {
    return this.#lastUse.get(id)
  }

  /** Where the token was last used from, except for repeated cache hits. */
  lastAddress(id: string): string | undefined {
    return this.#lastAddress.get(id)
  }

  #removeKeys(id: string): void {
    const token = this.#tokens.get(id)?.token
    if (token === undefined) return
    this.#recent.clear()
    this.#keys.clear()
    for (const hash of hashesOf(token)) this.#idOf.delete(hash)
    this.#tokens.delete(id)
  }
}

function hashesOf({ hash, previous }: StoredToken): string[] {
  return previous ? [hash, previous.hash] : [hash]
}

function keyWith({ id, token, tag, mayQueryGateway }: KnownToken, hash: string): Key {
  const { scopes, project, parameters, requests_per_minute: perMinute, expires_at, previous } = token
  const rights = { scopes, project, parameters }
  const expiresMs = expires_at === null ? Infinity : Date.parse(expires_at)
  const secretUntilMs = previous?.hash === hash ? Date.parse(previous.valid_until) : Infinity
  const untilMs = Math.min(expiresMs, secretUntilMs)
  return {
    hash: Buffer.from(hash, 'hex'),
    rights,
    caller: callerWith({ id, tag, mayQueryGateway, ...rights }),
    limits: perMinute === null ? [] : [{ id, perMinute }],
    validFromMs: -Infinity,
    validUntilMs: untilMs,
    ownerUntilMs: untilMs,
  }
}

/** A token that nobody created with the API. */
export function tokenWith(hash: string, scopes: string[]): StoredToken {
  return {
    ...{ hash, scopes, description: '', project: null, parameters: {}, requests_per_minute: null },
    ...{ expires_at: null, created_at: '', created_by: null, previous: null },
  }
}

function isValid({ validFromMs, validUntilMs }: Key, nowMs: number): boolean {
  return nowMs >= validFromMs && nowMs < validUntilMs
}

function digestOf({ scopes, project, parameters }: Rights): string {
  return hash('sha256', JSON.stringify([scopes, project, parameters]), 'base64url')
}
