import { grouped } from '../base/grouped.ts'

export type CatalogKind = 'source' | 'endpoint' | 'token' | 'search' | 'alert'

export interface CatalogRecord<Body = unknown> {
  /** A unique name, by which the writer finds the change again. */
  entry: string
  kind: CatalogKind
  id: string
  version: number
  /** ISO 8601, UTC. */
  changed_at: string
  changed_by: string
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

const entryOfBatch = /^(.+) \d+\/(\d+)$/

/** Names for the changes of one atomic batch. Each contains the size, so that an incomplete batch is recognized. */
export function entriesOfBatch(batch: string, size: number): string[] {
  return size === 1 ? [batch] : Array.from({ length: size }, (_, index) => `${batch} ${index + 1}/${size}`)
}

/** Groups the changes of a log by batch, in the order of their first change. */
export function batchesOf(records: readonly CatalogRecord[]): CatalogRecord[][] {
  return [...grouped(records, ({ entry }) => entryOfBatch.exec(entry)?.[1] ?? entry).values()]
}

function isWhole(batch: readonly CatalogRecord[]): boolean {
  const size = entryOfBatch.exec(batch[0]?.entry ?? '')?.[2]
  return size === undefined || Number(size) === new Set(batch.map(({ entry }) => entry)).size
}

/**
 * The state that a log of changes leads to. A change that does not follow the previous version, or that claims a name
 * which is taken, is ignored. So every service that reads the log comes to the same state.
 */
export class CatalogState {
  readonly #namesOf: NamesOf
  readonly #histories = new Map<string, CatalogRecord[]>()
  readonly #owners = new Map<string, string>()

  constructor(namesOf: NamesOf) {
    this.#namesOf = namesOf
  }

  judge(...changes: readonly CatalogChange[]): Verdict {
    const changing = new Set<string>()
    for (const { kind, id, version } of changes) {
      const current = this.current(kind, id)
      const next = (current?.version ?? 0) + 1
      // Nothing follows a deletion; to use a name again, create something new.
      if (version !== next || current?.deleted || changing.has(keyOf(kind, id))) {
        return { accepted: false, because: 'version', kind, id }
      }
      changing.add(keyOf(kind, id))
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

  apply(...records: readonly CatalogRecord[]): Verdict {
    const [first] = records
    if (first && !isWhole(records)) {
      return { accepted: false, because: 'version', kind: first.kind, id: first.id }
    }
    const verdict = this.judge(...records)
    if (!verdict.accepted) return verdict
    for (const { kind, id } of records) {
      const before = this.current(kind, id)
      if (before) for (const name of this.#namesOf(kind, before.body)) this.#owners.delete(keyOf(kind, name))
    }
    for (const record of records) {
      const { kind, id, body, deleted } = record
      if (!deleted) for (const name of this.#namesOf(kind, body)) this.#owners.set(keyOf(kind, name), id)
      const history = this.#histories.get(keyOf(kind, id))
      if (history) history.push(record)
      else this.#histories.set(keyOf(kind, id), [record])
    }
    return verdict
  }

  current(kind: CatalogKind, id: string): CatalogRecord | undefined {
    return this.history(kind, id).at(-1)
  }

  /** Every version, oldest first, including the deletion. */
  history(kind: CatalogKind, id: string): readonly CatalogRecord[] {
    return this.#histories.get(keyOf(kind, id)) ?? []
  }

  /** The newest version of everything, including deletions. */
  newest(): CatalogRecord[] {
    return [...this.#histories.values()].flatMap((history) => history.at(-1) ?? [])
  }
}

function keyOf(kind: CatalogKind, text: string): string {
  return `${kind}/${text}`
}
