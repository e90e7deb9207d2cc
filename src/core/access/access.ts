import { timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { atMost } from '../base/cache-limit.ts'
import type { Clock } from '../base/clock.ts'
import { forbidden, rateLimited, unauthorized } from '../base/errors.ts'
import { hashToken, isMistyped } from './admin-token.ts'
import type { Caller, PlanLimits } from './caller.ts'
import { isValid, type Key, type RecognizedToken } from './caller.ts'
import { KnownTokens, tokenWith } from './known-tokens.ts'
import { networkOf, type Quota, RequestQuota } from './request-quota.ts'
import { type NewSession, type SessionCookie, Sessions } from './sessions.ts'
import type { SessionFields, StoredToken } from './token.ts'

const maxRecent = 1000
const maxLimited = 50_000
const maxFailingAddresses = 10_000

const failedTooOften =
  'Too many requests with an invalid token from this address. Check the token; valid tokens are not limited.'
const signedInTooOften = 'Too many sign-ins from this address, or with this token or account.'

/** Recognizes credentials, and limits how often each is used. One that was not used lately costs a hash, any other a lookup. */
export class Access {
  readonly #clock: Clock
  readonly #tokens: KnownTokens
  readonly #sessions: Sessions
  readonly #quota = new RequestQuota(maxLimited)
  readonly #failed = new RequestQuota(maxFailingAddresses)
  readonly #signInAttempts = new RequestQuota(maxFailingAddresses)
  readonly #failuresPerMinute: number
  readonly #lastUse = new Map<string, number>()
  readonly #lastAddress = new Map<string, string>()
  /** Valid tokens by their text, so that the same one is not hashed for every request. Cleared on every change. */
  readonly #recent = new LRUCache<string, Key>(atMost(maxRecent))
  readonly #onChange: (() => void)[] = []
  /** Compared with if no key matches, so that the time is the same. */
  readonly #nobody: Key

  constructor(
    adminToken: string,
    clock: Clock,
    failuresPerMinute = Infinity,
    planOf: (project: string) => PlanLimits | undefined = () => undefined,
  ) {
    this.#clock = clock
    this.#tokens = new KnownTokens(planOf)
    this.#failuresPerMinute = failuresPerMinute
    const hash = hashToken(adminToken).toString('hex')
    this.put('admin', tokenWith(hash, ['admin']))
    const admin = this.#tokens.keyOf(hash) as Key
    this.#nobody = { ...admin, hash: Buffer.alloc(32), validUntilMs: -Infinity }
    this.#sessions = new Sessions({ tokens: this.#tokens, secret: adminToken, nobody: this.#nobody, clock })
  }

  /** Throws the same error, after the same work, for unknown, revoked and expired tokens. */
  admit(token: string | undefined, address = '') {
    const key = this.recognize(token ?? '')
    if (!key) {
      // A request without a token is not an attempt to guess one.
      if (token === undefined) throw unauthorized(false)
      this.#limit(this.#failed, [address], failedTooOften)
      throw unauthorized(isMistyped(token))
    }
    if (address !== '') this.#lastAddress.set(key.caller.id, address)
    return { caller: key.caller, quota: this.count(key) }
  }

  /** Takes ids of tokens and people, and addresses. Throws if one of them signed in too often. */
  countSignIn(...who: readonly string[]): void {
    this.#limit(this.#signInAttempts, who, signedInTooOften)
  }

  #limit(quota: RequestQuota, who: readonly string[], message: string): void {
    const limits = who.map((one) => ({ id: networkOf(one), perMinute: this.#failuresPerMinute }))
    const taken = quota.take(limits, this.#clock.now())
    if (taken?.exceeded) throw rateLimited(message, taken.resetSeconds)
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
    return limits.length > 0 ? this.#quota.take(limits, this.#clock.now()) : undefined
  }

  /** Returns a check of whether the token is still valid and its permissions are unchanged. */
  watch(token: string | undefined, caller: Caller): () => boolean {
    const key = this.#find(token, this.#clock.now())
    if (key?.caller.tag !== caller.tag) return () => false
    const { id } = caller
    const known = this.#tokens.get(id)
    const hash = key.hash.toString('hex')
    const plan = JSON.stringify(this.#tokens.planOf(caller))
    return () =>
      this.#tokens.get(id) === known &&
      JSON.stringify(this.#tokens.planOf(caller)) === plan &&
      this.#tokens.keyOf(hash) !== undefined &&
      !this.#sessions.hasEnded(id, key.signIn) &&
      isValid(key, this.#clock.now())
  }

  /** Called whenever projects may have other plans. */
  plansChanged(): void {
    this.#tokens.plansChanged()
    this.#recent.clear()
    this.#changed()
  }

  onChange(listener: () => void): void {
    this.#onChange.push(listener)
  }

  /** With a secret of the token, the session ends when that secret does, so that an old one gives no more than its overlap. */
  createSession(id: string, fields: SessionFields, secret?: string): NewSession | undefined {
    const nowMs = this.#clock.now()
    const own = this.#tokens.get(id)?.token.hash
    const key = secret === undefined ? own && this.#tokens.keyOf(own) : this.#find(secret, nowMs)
    if (!key || key.caller.id !== id || !isValid(key, nowMs)) return undefined
    return this.#sessions.create(key, fields)
  }

  /** A cookie for the console, with the rights of the token. A session or a cookie stays what it is: another one would outlive it. */
  createCookie(token: string, lengthMs: number) {
    const nowMs = this.#clock.now()
    const key = this.#find(token, nowMs)
    // Whoever has a link is nobody in particular.
    if (key && this.#tokens.get(key.caller.id)?.madeBy !== undefined) {
      throw forbidden('The session of a link cannot sign in. Sign in with a token or with your account.')
    }
    if (key?.caller.isSession || key?.cookie) return { text: token, expiresMs: key.validUntilMs }
    return key && this.#sessions.createCookie(key, lengthMs)
  }

  /** A cookie of a person who has just signed in. */
  createCookieOf(id: string, lengthMs: number): SessionCookie | undefined {
    const key = this.#tokens.keyOf(this.#tokens.get(id)?.token.hash ?? '')
    return key && this.#sessions.createCookie(key, lengthMs)
  }

  /** A cookie that lasts longer, if it has been used for a while. */
  renewCookie(text: string, lengthMs: number): SessionCookie | undefined {
    const key = this.#find(text, this.#clock.now())
    const renewed = key?.cookie && this.#sessions.createCookie(key, lengthMs, key.cookie)
    return renewed && renewed.expiresMs - (key as Key).validUntilMs > lengthMs / 12 ? renewed : undefined
  }

  /** The id of a valid cookie and of its owner. */
  cookieIn(text: string): { id: string; owner: string } | undefined {
    const key = this.#find(text, this.#clock.now())
    return key?.cookie && { id: key.cookie.id, owner: key.caller.id }
  }

  endCookies(owner: string, ids: readonly string[]): void {
    if (ids.length === 0) return
    this.#sessions.end(owner, ids)
    this.#recent.clear()
    this.#changed()
  }

  #find(token: string | undefined, nowMs: number): Key | undefined {
    const hash = hashToken(token ?? '')
    const key = this.#tokens.keyOf(hash.toString('hex')) ?? this.#nobody
    const isSame = timingSafeEqual(hash, key.hash)
    const found = isSame ? key : this.#sessions.find(token ?? '')
    if (!found || !isValid(found, nowMs)) return undefined
    this.#lastUse.set(found.caller.id, nowMs)
    return found
  }

  put(id: string, token: StoredToken, mayQueryGateway = false, madeBy?: string): void {
    if (this.#tokens.put(id, token, mayQueryGateway, madeBy)) this.#recent.clear()
    this.#changed()
  }

  remove(id: string): void {
    if (this.#tokens.remove(id)) this.#recent.clear()
    this.#quota.forget(id)
    this.#lastUse.delete(id)
    this.#sessions.forget(id)
    this.#lastAddress.delete(id)
    this.#changed()
  }

  lastUse(id: string): number | undefined {
    return this.#lastUse.get(id)
  }

  /** Where the token was last used from, except for repeated cache hits. */
  lastAddress(id: string): string | undefined {
    return this.#lastAddress.get(id)
  }

  #changed(): void {
    for (const listener of this.#onChange) listener()
  }
}
