import type { z } from 'zod'
import { grouped } from '../base/grouped.ts'
import { firstProblem } from '../base/validation.ts'

export type CatalogKind =
  | 'source'
  | 'endpoint'
  | 'alert'
  | 'dashboard'
  | 'link'
  | 'search'
  | 'token'
  | 'person'

export interface CatalogRecord<Body = unknown> {
  /** A unique name, by which the writer finds the change again. */
  entry: string
  kind: CatalogKind
  id: string
  version: number
  /** ISO 8601, UTC. */
  changed_at: string
  changed_by: string
  /** Of the request that made the change. Empty: unknown. */
  address?: string
  request_id?: string
  deleted: boolean
  body: Body
}

/** The names that a record claims. Each is unique among records of a kind. */
export type NamesOf = (kind: CatalogKind, body: unknown) => readonly string[]

export type Verdict =
  | { accepted: true }
  | { accepted: false; because: 'version'; kind: CatalogKind; id: string }
  | { accepted: false; because: 'name'; name: string }

export type CatalogChange = Pick<CatalogRecord, 'kind' | 'id' | 'version' | 'deleted' | 'body'>

const entryOfBatch = /^(.+) \d+\/\d+$/

/** Names for the changes of one atomic batch. */
export function entriesOfBatch(batch: string, size: number): string[] {
  return size === 1 ? [batch] : Array.from({ length: size }, (_, index) => `${batch} ${index + 1}/${size}`)
}

/** Groups the changes of a log by batch, in the order of their first change. */
export function batchesOf<T extends Pick<CatalogRecord, 'entry'>>(records: readonly T[]): T[][] {
  return [...grouped(records, ({ entry }) => entryOfBatch.exec(entry)?.[1] ?? entry).values()]
}

/** What is known of the newest version of a record. Its body is for those who use it. */
interface Current {
  version: number
  entry: string
  names: readonly string[]
}

/** Deletions that are remembered, so that a log written without the server's order cannot bring a record back. */
const maxDeletions = 10_000

/**
 * The state that a log of changes leads to. A change that does not follow the previous version, or that claims a name
 * which is taken, is ignored. So every service that reads the log comes to the same state.
 */
export class CatalogState {
  readonly #namesOf: NamesOf
  readonly #current = new Map<string, Current>()
  readonly #owners = new Map<string, string>()
  readonly #counts = new Map<CatalogKind, number>()
  readonly #deleted = new Set<string>()

  constructor(namesOf: NamesOf) {
    this.#namesOf = namesOf
  }

  /** Whether new changes would be accepted: each must be the next version of its record. */
  judge(...changes: readonly CatalogChange[]): Verdict {
    return this.#judge(changes, (version, current) => version === current + 1)
  }

  #judge(changes: readonly CatalogChange[], follows: (version: number, current: number) => boolean): Verdict {
    const changing = new Set<string>()
    for (const { kind, id, version } of changes) {
      const key = keyOf(kind, id)
      // Nothing follows a deletion; to use a name again, create something new.
      const isNext = follows(version, this.#current.get(key)?.version ?? 0) && !this.#deleted.has(key)
      if (!isNext || changing.has(key)) return { accepted: false, because: 'version', kind, id }
      changing.add(key)
    }
    const claims = new Map<string, string>()
    for (const { kind, id, deleted, body } of changes) {
      for (const name of deleted ? [] : this.#namesOf(kind, body)) {
        const key = keyOf(kind, name)
        const owner = this.#owners.get(key)
        // An owner in the same batch may give the name up; if not, its own claim conflicts.
        const isTaken = owner !== undefined && !changing.has(keyOf(kind, owner))
        if (isTaken || (claims.get(key) ?? id) !== id) return { accepted: false, because: 'name', name }
        claims.set(key, id)
      }
    }
    return { accepted: true }
  }

  /** Applies a batch of the log, unless it conflicts with what came before. Old versions may have been removed from the log. */
  apply(...records: readonly CatalogRecord[]): Verdict {
    const verdict = this.#judge(records, (version, current) => version > current)
    if (verdict.accepted) this.put(records)
    return verdict
  }

  /** Sets records that are known to be accepted. */
  put(records: readonly CatalogRecord[]): void {
    for (const { kind, id } of records) {
      const key = keyOf(kind, id)
      const before = this.#current.get(key)
      if (!before) continue
      for (const name of before.names) this.#owners.delete(keyOf(kind, name))
      this.#current.delete(key)
      this.#counts.set(kind, this.count(kind) - 1)
    }
    for (const { kind, id, version, entry, deleted, body } of records) {
      const key = keyOf(kind, id)
      if (deleted) {
        this.#forget(key)
        continue
      }
      const names = this.#namesOf(kind, body)
      for (const name of names) this.#owners.set(keyOf(kind, name), id)
      this.#current.set(key, { version, entry, names })
      this.#counts.set(kind, this.count(kind) + 1)
    }
  }

  #forget(key: string): void {
    this.#deleted.add(key)
    if (this.#deleted.size > maxDeletions) this.#deleted.delete(this.#deleted.values().next().value as string)
  }

  /** Of records that exist. */
  current(kind: CatalogKind, id: string): Readonly<Current> | undefined {
    return this.#current.get(keyOf(kind, id))
  }

  ownerOf(kind: CatalogKind, name: string): string | undefined {
    return this.#owners.get(keyOf(kind, name))
  }

  count(kind: CatalogKind): number {
    return this.#counts.get(kind) ?? 0
  }
}

function keyOf(kind: CatalogKind, text: string): string {
  return `${kind}/${text}`
}

export function readBody<T>(record: CatalogRecord, shape: z.ZodType<T>): T {
  const parsed = shape.safeParse(record.body)
  if (parsed.success) return parsed.data
  const { field, message } = firstProblem(parsed.error)
  const { version, kind, id } = record
  throw new Error(`The catalog is damaged: version ${version} of ${kind} ${id}: ${field} ${message}.`)
}
