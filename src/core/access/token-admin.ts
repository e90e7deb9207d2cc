import { randomUUID } from 'node:crypto'
import { type Actor, type Author, authorId } from '../base/author.ts'
import type { Clock } from '../base/clock.ts'
import { forbidden, invalidParameter, resourceNotFound } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { readShape } from '../base/validation.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { shippedBy } from '../definitions/definitions.ts'
import { type SavedRecord, SavedRecords } from '../definitions/saved-records.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows, writeJsonRows } from '../engine/json-rows.ts'
import type { Access } from './access.ts'
import { createToken, hashToken } from './admin-token.ts'
import type { Caller } from './caller.ts'
import type { NewSession } from './sessions.ts'
import {
  rotationShape,
  type StoredToken,
  sessionShape,
  storedTokenShape,
  type TokenFields,
  tokenChangeShape,
  tokenShape,
} from './token.ts'

/** Somebody who holds sessions without a token. */
export interface Holder {
  name: string
  email: string | null
}

export type FindHolder = (id: string) => Holder | undefined

export type TokenView = ReturnType<TokenAdmin['get']>

type NewToken = TokenView & { token: string }

interface TokenAdminOptions {
  access: Access
  catalog: Catalog
  engine: Engine
  clock: Clock
  log: Log
  /** Find holders of sessions that are no tokens. */
  holders: readonly FindHolder[]
}

const limits = { deadlineMs: 10_000 }
const writeUsesEveryMs = 30_000

export class TokenAdmin {
  readonly #options: TokenAdminOptions
  readonly #tokens: SavedRecords<StoredToken>
  /** Last uses that are stored. */
  readonly #uses = new Map<string, { at: number; from: string }>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: TokenAdminOptions) {
    this.#options = options
    const { access, catalog } = options
    const kind = { name: 'token', plural: 'access tokens', most: 500_000 }
    this.#tokens = new SavedRecords(catalog, kind, storedTokenShape)
    this.#tokens.follow((changes) => {
      for (const { id, after } of changes) {
        if (after) access.put(id, after.body)
        else access.remove(id)
        if (!after) this.#uses.delete(id)
      }
    })
  }

  async open(): Promise<void> {
    await this.#readUses().catch((error) => {
      this.#options.log.warn({ err: error }, 'reading the last use of tokens failed')
    })
    this.#timer = setInterval(() => void this.#writeUses(), writeUsesEveryMs).unref()
  }

  async #readUses(): Promise<void> {
    const rows = await queryRows<{ id: string; at: number; from: string }>(
      this.#options.engine,
      {
        sql: `SELECT id, toUnixTimestamp64Milli(max(uses.at)) AS at, argMax(uses.address, uses.at) AS from FROM _token_uses AS uses GROUP BY id`,
        settings: { output_format_json_quote_64bit_integers: 0 },
      },
      limits,
    )
    for (const { id, at, from } of rows) this.#uses.set(id, { at, from })
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#writeUses()
  }

  list(): TokenView[] {
    const views = this.#tokens.values().map((token) => this.#view(token))
    return views.sort((one, other) => (one.created_at < other.created_at ? -1 : 1))
  }

  get(id: string) {
    return this.#view(this.#find(id))
  }

  #view({ id, body, changed_at: updated_at }: SavedRecord<StoredToken>) {
    const { hash: _, previous, ...fields } = body
    const created_by_name = fields.created_by === null ? null : this.actorOf(fields.created_by).name || null
    const lastUse = this.#lastUse(id)
    return {
      id,
      ...fields,
      created_by_name,
      updated_at,
      last_used_from: lastUse.from || null,
      last_used_at: lastUse.at === 0 ? null : new Date(lastUse.at).toISOString(),
      /** When the previous secret stops working. */
      previous_valid_until: previous?.valid_until ?? null,
    }
  }

  /** For people who see what a token did. */
  nameOf(id: string): string | undefined {
    return id === 'admin' ? 'admin token' : this.#tokens.find(id)?.body.description
  }

  /** Undefined for tokens. */
  holderOf(id: string): Holder | undefined {
    for (const find of this.#options.holders) {
      const holder = find(id)
      if (holder) return holder
    }
    return undefined
  }

  /** The person or token with this id. */
  actorOf(id: string): Actor {
    const holder = this.holderOf(id)
    if (holder) return { type: 'person', id, name: holder.name }
    if (id === shippedBy) return { type: 'service', id, name: 'Wellhead' }
    return { type: 'token', id, name: this.nameOf(id) ?? '' }
  }

  /** What the holder of a token learns about it. The admin token is not stored. */
  summary(id: string): Pick<TokenFields, 'description' | 'requests_per_minute'> {
    const { description = '', requests_per_minute = null } = this.#tokens.find(id)?.body ?? {}
    return { description, requests_per_minute }
  }

  async create(given: unknown, by: Author): Promise<NewToken> {
    const fields = readShape(tokenShape, given)
    const now = this.#options.clock.now()
    if (fields.expires_at !== null && Date.parse(fields.expires_at) <= now) {
      throw invalidParameter('expires_at', 'expires_at must be later than now.')
    }
    const secret = createToken()
    const id = randomUUID()
    const created = { created_at: new Date(now).toISOString(), created_by: authorId(by), previous: null }
    await this.#tokens.put(id, by, () => ({ ...fields, ...created, hash: hashOf(secret) }))
    return { ...this.get(id), token: secret }
  }

  /** Replaces all fields, or only those in the change. The secret does not change. */
  change(id: string, given: unknown, by: Author, whole: boolean): Promise<TokenView> {
    return this.#next(id, by, ({ hash, created_at, created_by, previous, ...current }) => {
      const change = whole ? given : { ...current, ...readShape(tokenChangeShape, given) }
      return { ...readShape(tokenShape, change), hash, created_at, created_by, previous }
    })
  }

  /** Creates a new secret. The old one keeps working for the overlap. */
  async rotate(id: string, given: unknown, by: Author): Promise<NewToken> {
    const { overlap_seconds: overlap } = readShape(rotationShape, given ?? {})
    const secret = createToken()
    const validUntil = new Date(this.#options.clock.now() + overlap * 1000).toISOString()
    const view = await this.#next(id, by, (token) => ({
      ...token,
      hash: hashOf(secret),
      previous: { hash: token.hash, valid_until: validUntil },
    }))
    return { ...view, token: secret }
  }

  /** Creates a session of a token. The secret is that of the requester. */
  createSession(id: string, body: unknown, requester: Caller, secret: string): NewSession {
    if (requester.isSession) {
      throw forbidden('A session cannot create sessions. Use the token that it belongs to.')
    }
    const isOwn = id === 'self' || id.toLowerCase() === requester.id
    if (!isOwn && !requester.isAdmin) {
      throw forbidden('Sessions of other tokens require the scope admin. Use the id self for your own token.')
    }
    const owner = isOwn ? requester.id : this.#find(id).id
    const fields = readShape(sessionShape, body ?? {})
    const session = this.#options.access.createSession(owner, fields, isOwn ? secret : undefined)
    if (!session)
      throw invalidParameter('id', 'The token has expired. Change expires_at, or use another one.')
    return session
  }

  revoke(id: string, by: Author): Promise<void> {
    // The audit shows the description.
    const emptied = { project: null, parameters: {}, hash: '', previous: null }
    return this.#tokens.delete(
      () => [this.#find(id)],
      by,
      (token) => ({ ...token, ...emptied, scopes: token.scopes.slice(0, 1) }),
    )
  }

  async #next(id: string, by: Author, change: (token: StoredToken) => StoredToken): Promise<TokenView> {
    await this.#tokens.put(id, by, () => change(this.#find(id).body))
    return this.get(id)
  }

  #find(id: string) {
    const found = this.#tokens.find(id)
    if (!found) throw resourceNotFound(`No access token has the id "${id}"`)
    return found
  }

  #lastUse(id: string) {
    const { access } = this.#options
    const stored = this.#uses.get(id)
    const at = Math.max(access.lastUse(id) ?? 0, stored?.at ?? 0)
    return { id, at, from: access.lastAddress(id) ?? stored?.from ?? '' }
  }

  /** One row per token used since the last write; no request waits for it. */
  async #writeUses(): Promise<void> {
    const { access, engine, log } = this.#options
    // There can be hundreds of thousands of tokens, of which few were used since.
    const used = this.#tokens.values().filter(({ id }) => {
      return (access.lastUse(id) ?? 0) > (this.#uses.get(id)?.at ?? 0)
    })
    if (used.length === 0) return
    const news = used.map(({ id }) => this.#lastUse(id))
    const rows = news.map(({ id, at, from }) => ({ id, at: (at / 1000).toFixed(3), address: from }))
    try {
      await engine.insert({ table: '_token_uses', format: 'JSONEachRow' }, writeJsonRows(rows), limits)
      for (const { id, at, from } of news) this.#uses.set(id, { at, from })
    } catch (error) {
      log.warn({ err: error }, 'storing the last use of tokens failed')
    }
  }
}

function hashOf(secret: string): string {
  return hashToken(secret).toString('hex')
}
