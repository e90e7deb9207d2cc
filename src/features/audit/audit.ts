import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Actor, RequestAuthor } from '../../core/base/author.ts'
import type { Clock, Timers } from '../../core/base/clock.ts'
import { readRestored, restoredFile } from '../../core/base/files/restored-file.ts'
import type { Log } from '../../core/base/log.ts'
import { serviceLine } from '../../core/base/service-line.ts'
import type { Catalog } from '../../core/catalog/catalog.ts'
import type { PlacedRecord } from '../../core/catalog/catalog-log.ts'
import { batchesOf } from '../../core/catalog/catalog-state.ts'
import { auditSource } from '../../core/catalog/reserved-sources.ts'
import { shippedBy } from '../../core/definitions/definitions.ts'
import type { Engine } from '../../core/engine/engine.ts'
import { queryRows } from '../../core/engine/json-rows.ts'

interface AuditOptions {
  catalog: Catalog
  engine: Engine
  clock: Clock
  log: Log
  /** Stores lines once per token. */
  store: (lines: Buffer, token: string) => Promise<void>
  retentionDays: () => number
  after: Timers['after']
  actorOf: (id: string) => Actor
  dataDir: string
}

interface Refusal extends Act {
  count: number
}

interface Act {
  id: string
  at: string
  actor: Actor
  action: string
  target: string
  [field: string]: unknown
}

const limits = { deadlineMs: 30_000 }

/** Changes whose entries are stored at once, if many lack them. */
const maxGroup = 1_000

/** Refusals change nothing, so their entries wait for others. */
const groupRefusalsMs = 5_000
const maxRefusals = 1_000

/**
 * Who did what, as entries of a source. Entries of changes are derived from the rows of the catalog, in their order: a change
 * without its entry gets it later, however the service ended. Each batch has a token, so that it is stored once even if several
 * services derive it. Other acts are written before they take effect.
 */
export class Audit {
  readonly #options: AuditOptions
  /** The position of the first row that may lack its entry. */
  #next = -1
  /** The last row of a group that was sent. If it failed, it may be stored, and its token must not mean another group. */
  #attempted = -1
  #refusals = new Map<string, Refusal>()
  #cancel: (() => void) | undefined
  #storing = Promise.resolve()

  constructor(options: AuditOptions) {
    this.#options = options
  }

  async open(): Promise<void> {
    const { catalog, dataDir } = this.#options
    const restored = await readRestored(dataDir)
    if (restored) {
      const act = { id: restored.id, at: restored.at, action: 'backup.restore', target: restored.taken_at }
      const actor = { type: 'service', id: '', name: 'wellhead restore' } as const
      await this.#store([{ ...act, actor, address: '', request_id: '' }], `restore ${restored.id}`)
      await rm(join(dataDir, restoredFile), { force: true })
    }
    catalog.onRows((end, last) => this.#follow(end, last))
  }

  /**
   * Writes an act that is not in the catalog. Throws if it cannot be stored, so that it does not happen. Without a target, the
   * actor is the target.
   */
  async write(action: string, target: string | undefined, by: RequestAuthor, note?: string): Promise<void> {
    const noted = note === undefined ? {} : { note }
    const actor = this.#options.actorOf(by.id)
    const act = { ...this.#actBy(by, actor, action, target ?? (actor.name || actor.id)), ...noted }
    await this.#store([act], act.id)
  }

  /** Writes a refusal later, together with others. Repeated ones of an actor and address are one entry. */
  refuse(action: string, target: string, by: RequestAuthor, actor = this.#options.actorOf(by.id)): void {
    const key = JSON.stringify([action, actor.id, by.address])
    this.#add(key, { ...this.#actBy(by, actor, action, target), count: 1 })
  }

  async stop(): Promise<void> {
    await this.#storing
    await this.#storeRefusals()
    this.#cancel?.()
  }

  #actBy(by: RequestAuthor, actor: Actor, action: string, target: string): Act {
    const at = new Date(this.#options.clock.now()).toISOString()
    const origin = { address: by.address, request_id: by.requestId }
    return { id: randomUUID(), at, actor, action, target, ...origin }
  }

  #add(id: string, refusal: Refusal): void {
    // Beyond the maximum, an action has one entry for all.
    const key = this.#refusals.size < maxRefusals ? id : refusal.action
    const known = this.#refusals.get(id) ?? this.#refusals.get(key)
    if (known) known.count += refusal.count
    else this.#refusals.set(key, refusal)
    this.#cancel ??= this.#options.after(groupRefusalsMs, () => {
      this.#storing = this.#storeRefusals()
    })
  }

  async #storeRefusals(): Promise<void> {
    const refusals = this.#refusals
    this.#refusals = new Map()
    this.#cancel?.()
    this.#cancel = undefined
    if (refusals.size === 0) return
    try {
      await this.#store([...refusals.values()], randomUUID())
    } catch (error) {
      this.#options.log.error({ err: error }, 'storing refused sign-ins in the audit failed')
      for (const [key, refusal] of refusals) this.#add(key, refusal)
    }
  }

  async #follow(end: number, last: readonly PlacedRecord[]): Promise<void> {
    if (this.#next < 0) this.#next = await this.#stored()
    if (this.#next >= end) return
    const { catalog, clock, retentionDays } = this.#options
    const isKnown = last[0]?.position === this.#next && last.length === end - this.#next
    if (isKnown && this.#attempted < this.#next) {
      // Only within a day, which is a partition, is a group stored atomically.
      const isGroup = new Set(last.map(({ changed_at }) => changed_at.slice(0, 10))).size === 1
      if (catalog.shared) return this.#storeEach(batchesOf(last))
      if (isGroup) return this.#storeChanges(last)
    }
    // Entries of older changes would be removed at once.
    const sinceMs = clock.now() - retentionDays() * 86_400_000
    const batches = (from: number, to: number) => catalog.log.batches(from, to, sinceMs)
    if (this.#attempted >= this.#next) {
      const failed: PlacedRecord[] = []
      for await (const batch of batches(this.#next, this.#attempted + 1)) failed.push(...batch)
      await this.#storeChanges(failed)
      this.#next = this.#attempted + 1
    }
    const most = catalog.shared ? 1 : maxGroup
    let waiting: PlacedRecord[][] = []
    for await (const batch of batches(this.#next, end)) {
      waiting.push(batch)
      if (waiting.length < most) continue
      await this.#storeChanges(waiting.flat())
      waiting = []
    }
    await this.#storeEach(waiting)
    this.#next = end
  }

  /** Services that share the catalog begin at different changes, so they store each batch by itself. */
  async #storeEach(batches: readonly PlacedRecord[][]): Promise<void> {
    for (const batch of batches) await this.#storeChanges(batch)
  }

  async #storeChanges(records: readonly PlacedRecord[]): Promise<void> {
    const last = records.reduce((most, { position }) => Math.max(most, position), this.#next - 1)
    this.#attempted = last
    const made = records.filter(({ changed_by }) => changed_by !== shippedBy)
    if (made.length > 0) {
      await this.#store(
        made.map((record) => this.#actOf(record)),
        `catalog ${made[0]?.position}-${last}`,
      )
    }
    this.#next = last + 1
  }

  async #stored(): Promise<number> {
    const sql = `SELECT max(position) AS position FROM ${auditSource}`
    const [row] = await queryRows<{ position: number | null }>(this.#options.engine, { sql }, limits)
    return row?.position == null ? 0 : Number(row.position) + 1
  }

  #actOf(record: PlacedRecord): Act {
    const { kind, id, version, deleted, changed_at: at, changed_by, position } = record
    const body = (record.body ?? {}) as Record<string, unknown>
    const { name = body.name, description = body.description } = (body.definition ?? {}) as typeof body
    const verb = deleted ? 'delete' : version === 1 ? 'create' : 'update'
    return {
      id: `catalog-${position}`,
      at,
      actor: this.#options.actorOf(changed_by),
      action: `${kind}.${kind === 'person' ? body.act : verb}`,
      target: String((kind === 'token' ? description : name) || id),
      target_id: id,
      version,
      note: String(body.note ?? ''),
      address: record.address ?? '',
      request_id: record.request_id ?? '',
      // What was written last tells where to go on.
      position,
    }
  }

  #store(acts: readonly Act[], token: string): Promise<void> {
    const lines = acts.map(({ id, at, ...act }) => {
      const message = `${act.actor.name || act.actor.id || 'somebody'}: ${act.action} ${act.target}`
      return serviceLine({ id, atMs: Date.parse(at), message, metadata: act })
    })
    return this.#options.store(Buffer.from(lines.join('')), token)
  }
}
