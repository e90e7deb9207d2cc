import { randomUUID } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import type { Key } from './caller.ts'
import { type Session, sessionKey, signSession } from './session-token.ts'

export interface SessionCookie {
  text: string
  expiresMs: number
}

/** Of one token. A person's are in the catalog. */
const maxEnded = 1000
/** How far the clocks of services may differ. */
const clockToleranceMs = 60_000

/** Cookies of browsers that signed in, with all rights of a token or person. They end when their owner signs out. */
export class SignIns {
  readonly #secret: string
  readonly #clock: Clock
  /** Ids of cookies whose owners signed out, by owner: nobody can make the service forget those of others. */
  readonly #ended = new Map<string, Set<string>>()

  constructor(secret: string, clock: Clock) {
    this.#secret = secret
    this.#clock = clock
  }

  /** Lasts for the length after its last use, and twice as long after signing in. */
  create({ hash, caller, ownerUntilMs }: Key, lengthMs: number, known?: Key['cookie']): SessionCookie {
    const nowMs = this.#clock.now()
    const begun = known ?? { id: randomUUID(), signedInMs: nowMs }
    const expiresMs = Math.min(nowMs + lengthMs, begun.signedInMs + 2 * lengthMs, ownerUntilMs)
    const rights = { scopes: [], project: null, parameters: {}, requestsPerMinute: null }
    const session = { ...begun, ...rights, expiresMs }
    return { text: signSession(caller.id, session, sessionKey(this.#secret, hash)), expiresMs }
  }

  /** Undefined if its owner signed out. */
  keyOf(parent: Key, signedInMs: number, { id, expiresMs }: Session): Key | undefined {
    if (this.hasEnded(parent.caller.id, id)) return undefined
    return {
      ...parent,
      validFromMs: signedInMs - clockToleranceMs,
      validUntilMs: Math.min(expiresMs, parent.validUntilMs),
      cookie: { id, signedInMs },
      signIn: id,
    }
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
}
