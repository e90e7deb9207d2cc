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

export type Verdict = { accepted: true } | { accepted: false; because: 'version' | 'name'; name?: string }

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

  /** What would become of a change. */
  judge(record: Pick<CatalogRecord, 'kind' | 'id' | 'version' | 'deleted' | 'body'>): Verdict {
    const current = this.current(record.kind, record.id)
    const next = (current?.version ?? 0) + 1
    // Nothing comes after a deletion: the same name again is something new.
    if (record.version !== next || current?.deleted) return { accepted: false, because: 'version' }
    if (record.deleted) return { accepted: true }
    for (const name of this.#namesOf(record.kind, record.body)) {
      const owner = this.#owners.get(keyOf(record.kind, name))
      if (owner !== undefined && owner !== record.id) return { accepted: false, because: 'name', name }
    }
    return { accepted: true }
  }

  apply(record: CatalogRecord): Verdict {
    const verdict = this.judge(record)
    if (!verdict.accepted) return verdict
    const { kind, id, body, deleted } = record
    const history = this.#histories.get(keyOf(kind, id)) ?? []
    const before = history.at(-1)
    if (before) for (const name of this.#namesOf(kind, before.body)) this.#owners.delete(keyOf(kind, name))
    if (!deleted) for (const name of this.#namesOf(kind, body)) this.#owners.set(keyOf(kind, name), id)
    history.push(record)
    this.#histories.set(keyOf(kind, id), history)
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
