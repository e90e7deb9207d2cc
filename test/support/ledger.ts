export interface SentBatch {
  ids: string[]
  /** A batch without an idempotency key is sent once, because a retry could store it twice. */
  keyed: boolean
  state: 'in flight' | 'acknowledged' | 'refused' | 'unknown'
}

export interface Discrepancies {
  /** Acknowledged but not stored. */
  lost: string[]
  /** Stored more than once. */
  duplicated: string[]
  /** Stored but never sent. */
  unsent: string[]
}

/** Records batches and their responses. */
export class Ledger {
  readonly batches: SentBatch[] = []
  readonly #ids = new Set<string>()
  #acknowledgedBatches = 0
  #acknowledgedIds = 0

  get sentIds(): number {
    return this.#ids.size
  }

  get acknowledgedIds(): number {
    return this.#acknowledgedIds
  }

  get acknowledgedBatches(): number {
    return this.#acknowledgedBatches
  }

  begin(ids: string[], keyed: boolean): SentBatch {
    const batch: SentBatch = { ids, keyed, state: 'in flight' }
    this.batches.push(batch)
    for (const id of ids) this.#ids.add(id)
    return batch
  }

  settle(batch: SentBatch, state: SentBatch['state']): void {
    batch.state = state
    if (state !== 'acknowledged') return
    this.#acknowledgedBatches++
    this.#acknowledgedIds += batch.ids.length
  }

  /** Ids of all acknowledged entries. */
  acknowledged(): string[] {
    return this.batches.filter(({ state }) => state === 'acknowledged').flatMap(({ ids }) => ids)
  }

  /** Compares how often each id is stored with what was acknowledged. */
  compare(stored: ReadonlyMap<string, number>): Discrepancies {
    return {
      lost: this.acknowledged().filter((id) => !stored.has(id)),
      duplicated: [...stored].filter(([, count]) => count !== 1).map(([id]) => id),
      unsent: [...stored.keys()].filter((id) => !this.#ids.has(id)),
    }
  }

  /** The discrepancies as faults of a scenario. */
  faults(stored: ReadonlyMap<string, number>): string[] {
    const { lost, duplicated, unsent } = this.compare(stored)
    const sample = (ids: string[]) => `${ids.slice(0, 10).join(', ')}${ids.length > 10 ? ' …' : ''}`
    return [
      ...(lost.length > 0 ? [`${lost.length} acknowledged entries are lost: ${sample(lost)}`] : []),
      ...(duplicated.length > 0
        ? [`${duplicated.length} entries are stored twice: ${sample(duplicated)}`]
        : []),
      ...(unsent.length > 0 ? [`${unsent.length} stored entries were never sent: ${sample(unsent)}`] : []),
    ]
  }
}
