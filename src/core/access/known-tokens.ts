import { LRUCache } from 'lru-cache'
import { atMost } from '../base/cache-limit.ts'
import type { Key } from './caller.ts'
import { callerWith, type PlanLimits, type Rights } from './caller.ts'
import type { RequestLimit } from './request-quota.ts'
import type { StoredToken } from './token.ts'

/** A token as it is stored, of which there may be many. Its keys are created when they are used. */
interface KnownToken {
  readonly id: string
  readonly token: StoredToken
  readonly tag: string
  readonly mayQueryGateway: boolean
  /** It works only while this token may create it. */
  readonly madeBy: string | undefined
}

const maxRecent = 1000

/** The stored tokens, by the hash of their secret. */
export class KnownTokens {
  readonly #tokens = new Map<string, KnownToken>()
  /** By the hash of a secret. */
  readonly #idOf = new Map<string, string>()
  /** By the hash of a secret, those that were used lately. Cleared on every change. */
  readonly #keys = new LRUCache<string, Key>(atMost(maxRecent))
  readonly #planOf: (project: string) => PlanLimits | undefined
  #changes = 0

  constructor(planOf: (project: string) => PlanLimits | undefined) {
    this.#planOf = planOf
  }

  planOf({ project }: { project?: string | null | undefined }): PlanLimits | undefined {
    return project == null ? undefined : this.#planOf(project)
  }

  /** Called whenever projects may have other plans. */
  plansChanged(): void {
    this.#keys.clear()
  }

  get(id: string): KnownToken | undefined {
    return this.#tokens.get(id)
  }

  /** Returns whether it replaces another one. */
  put(id: string, token: StoredToken, mayQueryGateway = false, madeBy?: string): boolean {
    const replaces = this.remove(id)
    this.#tokens.set(id, { id, token, tag: `${id}.${++this.#changes}`, mayQueryGateway, madeBy })
    for (const hash of hashesOf(token)) this.#idOf.set(hash, id)
    return replaces
  }

  /** The key of a secret. Whether it is still valid is for the caller to check. */
  keyOf(hash: string): Key | undefined {
    const used = this.#keys.get(hash)
    if (used) return used
    const known = this.#tokens.get(this.#idOf.get(hash) ?? '')
    const key = known && this.#backed(keyWith(known, hash, this.planOf(known.token)), known.madeBy)
    if (key) this.#keys.set(hash, key)
    return key
  }

  /** The keys of all secrets of a token. */
  keysOf(id: string): Key[] {
    const known = this.#tokens.get(id)
    return known ? hashesOf(known.token).flatMap((hash) => this.keyOf(hash) ?? []) : []
  }

  /** A link ends with the token that created it, and with its right to create links. */
  #backed(key: Key, madeBy: string | undefined): Key | undefined {
    if (madeBy === undefined) return key
    const maker = this.#tokens.get(madeBy)
    const { caller, validUntilMs } = (maker && keyWith(maker, maker.token.hash)) ?? {}
    const mayShare = caller?.isAdmin || caller?.role === 'editor'
    return mayShare ? { ...key, validUntilMs: Math.min(key.validUntilMs, validUntilMs as number) } : undefined
  }

  /** Returns whether the token existed. */
  remove(id: string): boolean {
    const token = this.#tokens.get(id)?.token
    if (token === undefined) return false
    this.#keys.clear()
    for (const hash of hashesOf(token)) this.#idOf.delete(hash)
    return this.#tokens.delete(id)
  }
}

function hashesOf({ hash, previous }: StoredToken): string[] {
  return previous ? [hash, previous.hash] : [hash]
}

function keyWith({ id, token, tag, mayQueryGateway }: KnownToken, hash: string, plan?: PlanLimits): Key {
  const { scopes, project, parameters, requests_per_minute: perMinute, expires_at, previous } = token
  const rights = { scopes, project, parameters }
  const expiresMs = expires_at === null ? Infinity : Date.parse(expires_at)
  const secretUntilMs = previous?.hash === hash ? Date.parse(previous.valid_until) : Infinity
  const untilMs = Math.min(expiresMs, secretUntilMs)
  return {
    hash: Buffer.from(hash, 'hex'),
    rights,
    caller: callerWith({ id, tag: taggedWith(tag, plan), mayQueryGateway, plan, ...rights }),
    limits: limitsOf(rights, plan, perMinute === null ? [] : [{ id, perMinute }]),
    validFromMs: -Infinity,
    validUntilMs: untilMs,
    ownerUntilMs: untilMs,
  }
}

/** Callers with other limits have another tag. */
export function taggedWith(tag: string, plan: PlanLimits | undefined): string {
  return plan === undefined ? tag : `${tag} ${JSON.stringify(plan)}`
}

/** Those of the token or session, and that of the project, which all its tokens share. */
export function limitsOf(
  { project }: Rights,
  plan: PlanLimits | undefined,
  own: RequestLimit[],
): RequestLimit[] {
  const perMinute = plan?.requestsPerMinute
  return perMinute === undefined ? own : [...own, { id: `project ${project}`, perMinute, isShared: true }]
}

/** A token that nobody created with the API. */
export function tokenWith(hash: string, scopes: string[]): StoredToken {
  return {
    hash,
    scopes,
    description: '',
    project: null,
    parameters: {},
    requests_per_minute: null,
    expires_at: null,
    created_at: '',
    created_by: null,
    previous: null,
  }
}
