export type CatalogKind = 'source' | 'endpoint' | 'token'

/** One change, as it stands in the log. */
export interface CatalogRecord<Body = unknown> {
  /** Made for this change alone, so that whoever wrote it finds it again. */
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

/** Names that a record claims; no two of a kind may have the same. */
export type NamesOf = (kind: CatalogKind, body: unknown) => readonly string[]

export type Verdict =
  | { accepted: true }
  | { accepted: false; because: 'version'; kind: CatalogKind; id: string }
  | { accepted: false; because: 'name'; name: string }

/** What a change is about, without who made it and when. */
export type CatalogChange = Pick<CatalogRecord, 'kind' | 'id' | 'version' | 'deleted' | 'body'>

const entryOfBatch = /^(.+) \d+\/(\d+)$/

/** Names for changes that hold together or not at all. Each tells how many they are, so that a part is none. */
export function entriesOfBatch(batch: string, size: number): string[] {
  return size === 1 ? [batch] : Array.from({ length: size }, (_, index) => `${batch} ${index + 1}/${size}`)
}

/** The changes of a log that were made together, in the order of the first of each. */
export function batchesOf(records: readonly CatalogRecord[]): CatalogRecord[][] {
  const batches = new Map<string, CatalogRecord[]>()
  for (const [index, record] of records.entries()) {
    // Rows from before changes had names are each on their own.
    const key = entryOfBatch.exec(record.entry)?.[1] ?? `${record.entry} ${index}`
    const batch = batches.get(key)
    if (batch) batch.push(record)
    else batches.set(key, [record])
  }
  return [...batches.values()]
}

function isWhole(batch: readonly CatalogRecord[]): boolean {
  const size = entryOfBatch.exec(batch[0]?.entry ?? '')?.[2]
  return size === undefined || Number(size) === new Set(batch.map(({ entry }) => entry)).size
}

/**
 * What a log of changes comes to. Every node reads the same log in the same order and so comes to the same
 * state: a change that does not follow the version before it, or that claims a name which is taken, is as if it
 * had never been written.
 */
export class CatalogState {
  readonly #namesOf: NamesOf
  readonly #histories = new Map<string, CatalogRecord[]>()
  readonly #owners = new Map<string, string>()

  constructor(namesOf: NamesOf) {
    this.#namesOf = namesOf
  }

  /** What would become of changes that are made together: of all, or of none. */
  judge(...changes: readonly CatalogChange[]): Verdict {
    const changing = new Set<string>()
    for (const { kind, id, version } of changes) {
      const current = this.current(kind, id)
      const next = (current?.version ?? 0) + 1
      // Nothing comes after a deletion: the same name again is something new.
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
        // One that changes along may give the name away; whether it does, its own claim tells.
        const kept = owner !== undefined && !changing.has(keyOf(kind, owner))
        if (kept || (claims.get(key) ?? id) !== id) return { accepted: false, because: 'name', name }
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

  /** Every version of one thing, oldest first, with its deletion. */
  history(kind: CatalogKind, id: string): readonly CatalogRecord[] {
    return this.#histories.get(keyOf(kind, id)) ?? []
  }

  /** The newest version of everything, what was deleted included. */
  newest(): CatalogRecord[] {
    return [...this.#histories.values()].flatMap((history) => history.at(-1) ?? [])
  }
}

function keyOf(kind: CatalogKind, text: string): string {
  return `${kind}/${text}`
}
