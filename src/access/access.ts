import { timingSafeEqual } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { rateLimited, unauthorized } from '../base/errors.ts'
import { hashToken, isMistyped } from './admin-token.ts'
import { type Caller, callerWith } from './caller.ts'
import type { FailedAttempts } from './failed-attempts.ts'
import { type Quota, RequestQuota } from './request-quota.ts'
import type { StoredToken } from './token.ts'

interface Admission {
  caller: Caller
  /** Undefined for a token without a limit. */
  quota: Quota | undefined
}

/** A valid token. */
interface RecognizedToken {
  readonly caller: Caller
  readonly requestsPerMinute: number | null
}

interface Key extends RecognizedToken {
  hash: Buffer
  validUntilMs: number
}

const maxRecent = 1000

const failedTooOften =
  'Too many requests with an invalid token from this address. Check the token; valid tokens are not limited.'

/** The valid tokens, by the hash of their secret. A request costs one hash and one lookup. */
export class Access {
  readonly #clock: Clock
  readonly #keys = new Map<string, Key>()
  readonly #keysOf = new Map<string, string[]>()
  readonly #quota = new RequestQuota()
  readonly #lastUse = new Map<string, number>()
  /** Valid tokens by their text, so that the same one is not hashed for every request. Cleared on every change. */
  readonly #recent = new Map<string, Key>()
  readonly #onChange: (() => void)[] = []
  /** Undefined if failed attempts are not limited. */
  readonly #failed: FailedAttempts | undefined
  /** Compared with if no key matches, so that the time is the same. */
  readonly #nobody: Key

  constructor(adminToken: string, clock: Clock, failed?: FailedAttempts) {
    this.#clock = clock
    this.#failed = failed
    const rights = { scopes: ['admin'], project: null, parameters: {} }
    const admin = callerWith({ id: 'admin', ...rights })
    this.#add({ hash: hashToken(adminToken), caller: admin, requestsPerMinute: null, validUntilMs: Infinity })
    this.#nobody = { hash: Buffer.alloc(32), caller: admin, requestsPerMinute: null, validUntilMs: -Infinity }
  }

  /** Throws the same error, after the same work, for unknown, revoked and expired tokens. */
  admit(token: string | undefined, address = ''): Admission {
    const nowMs = this.#clock.now()
    const key = this.#find(token, nowMs)
    if (!key) {
      // A request without a token is not an attempt to guess one.
      const waitSeconds = token === undefined ? undefined : this.#failed?.take(address, nowMs)
      if (waitSeconds === undefined) throw unauthorized(token !== undefined && isMistyped(token))
      throw rateLimited(failedTooOften, waitSeconds)
    }
    return { caller: key.caller, quota: this.count(key) }
  }

  /** The token's caller, without counting the request; undefined if the token is not valid. */
  recognize(token: string): RecognizedToken | undefined {
    const nowMs = this.#clock.now()
    const known = this.#recent.get(token)
    const key = known && nowMs < known.validUntilMs ? known : this.#find(token, nowMs)
    if (key === undefined) return undefined
    if (known) this.#lastUse.set(key.caller.id, nowMs)
    else if (this.#recent.size < maxRecent) this.#recent.set(token, key)
    return key
  }

  /** Counts a request. Undefined for a token without a limit. */
  count({ caller, requestsPerMinute }: RecognizedToken): Quota | undefined {
    if (requestsPerMinute === null) return undefined
    return this.#quota.take(caller.id, requestsPerMinute, this.#clock.now())
  }

  /** Returns a check of whether the token is still valid and its permissions are unchanged. */
  watch(token: string | undefined, caller: Caller): () => boolean {
    const name = hashToken(token ?? '').toString('latin1')
    return () => {
      const key = this.#keys.get(name)
      return key?.caller === caller && this.#clock.now() < key.validUntilMs
    }
  }

  /** Called when a token's permissions change or the token is revoked. */
  onChange(listener: () => void): void {
    this.#onChange.push(listener)
  }

  #find(token: string | undefined, nowMs: number): Key | undefined {
    const hash = hashToken(token ?? '')
    const key = this.#keys.get(hash.toString('latin1')) ?? this.#nobody
    const isSame = timingSafeEqual(hash, key.hash)
    if (!isSame || nowMs >= key.validUntilMs) return undefined
    this.#lastUse.set(key.caller.id, nowMs)
    return key
  }

  /** Adds a token, or replaces its permissions. */
  put(id: string, token: StoredToken): void {
    this.#removeKeys(id)
    const caller = callerWith({ ...token, id })
    const requestsPerMinute = token.requests_per_minute
    const expiresMs = token.expires_at === null ? Infinity : Date.parse(token.expires_at)
    this.#add({ hash: Buffer.from(token.hash, 'hex'), caller, requestsPerMinute, validUntilMs: expiresMs })
    if (token.previous) {
      const validUntilMs = Math.min(expiresMs, Date.parse(token.previous.valid_until))
      this.#add({ hash: Buffer.from(token.previous.hash, 'hex'), caller, requestsPerMinute, validUntilMs })
    }
    for (const listener of this.#onChange) listener()
  }

  remove(id: string): void {
    this.#removeKeys(id)
    this.#quota.forget(id)
    this.#lastUse.delete(id)
    for (const listener of this.#onChange) listener()
  }

  lastUse(id: string): number | undefined {
    return this.#lastUse.get(id)
  }

  #add(key: Key): void {
    const name = key.hash.toString('latin1')
    this.#keys.set(name, key)
    this.#keysOf.set(key.caller.id, [...(this.#keysOf.get(key.caller.id) ?? []), name])
  }

  #removeKeys(id: string): void {
    this.#recent.clear()
    for (const name of this.#keysOf.get(id) ?? []) this.#keys.delete(name)
    this.#keysOf.delete(id)
  }
}
