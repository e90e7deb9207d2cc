import type { z } from 'zod'
import { grouped } from '../base/grouped.ts'
import { firstProblem } from '../base/validation.ts'

/** What the catalog knows of a kind of records. */
export interface RecordKind {
  readonly name: string
  /** For people. */
  readonly plural: string
  /** Maximum number of records. */
  readonly most: number
  /** What a record claims as names. Each is unique in its kind. Never throws, whatever the body is. */
  namesOf?(body: Readonly<Record<string, unknown>>): readonly unknown[]
  /** Whether it refers to others of such kinds, so that a change to one can take away what the plan of another rests on. */
  readonly isReferring?: boolean
}

export interface CatalogRecord<Body = unknown> {
  /** A unique name, by which the writer finds the change again. */
  entry: string
  kind: string
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

export type Verdict =
  | { accepted: true }
  | { accepted: false; because: 'version'; kind: string; id: string }
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

/** What a batch of changes frees and claims. */
export class Claims {
  /** Records that change, so that their names are free. */
  readonly changing = new Set<string>()
  /** Ids by the names that they claim. */
  readonly names = new Map<string, string>()

  change(kind: string, id: string): void {
    this.changing.add(keyOf(kind, id))
  }
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
  readonly #namesOf: (kind: string, body: unknown) => readonly string[]
  readonly #current = new Map<string, Current>()
  readonly #owners = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  readonly #deleted = new Set<string>()

  constructor(namesOf: (kind: string, body: unknown) => readonly string[]) {
    this.#namesOf = namesOf
  }

  /** Whether new changes would be accepted: each must be the next version of its record. */
  judge(...changes: readonly CatalogChange[]): Verdict {
    return this.#judge(changes, (version, current) => version === current + 1)
  }

  #judge(changes: readonly CatalogChange[], follows: (version: number, current: number) => boolean): Verdict {
    const claims = new Claims()
    for (const { kind, id, version } of changes) {
      const key = keyOf(kind, id)
      // Nothing follows a deletion; to use a name again, create something new.
      const isNext = follows(version, this.#current.get(key)?.version ?? 0) && !this.#deleted.has(key)
      if (!isNext || claims.changing.has(key)) return { accepted: false, because: 'version', kind, id }
      claims.change(kind, id)
    }
    for (const { kind, id, deleted, body } of changes) {
      const name = deleted ? undefined : this.taken(kind, id, this.#namesOf(kind, body), claims)
      if (name !== undefined) return { accepted: false, because: 'name', name }
    }
    return { accepted: true }
  }

  /** Claims names for a record, or returns the first that is taken. */
  taken(kind: string, id: string, names: readonly string[], { changing, names: claimed }: Claims) {
    return names.find((name) => {
      const key = keyOf(kind, name)
      const owner = this.#owners.get(key)
      // An owner in the same batch may give the name up; if not, its own claim conflicts.
      const isOwned = owner !== undefined && owner !== id && !changing.has(keyOf(kind, owner))
      if (isOwned || (claimed.get(key) ?? id) !== id) return true
      claimed.set(key, id)
      return false
    })
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
  current(kind: string, id: string): Readonly<Current> | undefined {
    return this.#current.get(keyOf(kind, id))
  }

  /** Id of the record that has a name. */
  owner(kind: string, name: string): string | undefined {
    return this.#owners.get(keyOf(kind, name))
  }

  count(kind: string): number {
    return this.#counts.get(kind) ?? 0
  }
}

function keyOf(kind: string, text: string): string {
  return `${kind}/${text}`
}

export function readBody<T>(record: CatalogRecord, shape: z.ZodType<T>): T {
  const parsed = shape.safeParse(record.body)
  if (parsed.success) return parsed.data
  const { field, message } = firstProblem(parsed.error)
  const { version, kind, id } = record
  throw new Error(`The catalog is damaged: version ${version} of ${kind} ${id}: ${field} ${message}.`)
}
