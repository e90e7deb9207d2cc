export interface SentBatch {
  ids: string[]
  /** Without a key a batch is sent once: whoever sends it again may store it again. */
  keyed: boolean
  state: 'in flight' | 'acknowledged' | 'refused' | 'unknown'
}

export interface Discrepancies {
  /** Acknowledged, and not there. */
  lost: string[]
  /** There more than once. */
  duplicated: string[]
  /** There, and never sent. */
  unsent: string[]
}

/** What was sent, and what was said of it. */
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

  /** Ids of everything that was acknowledged until now. */
  acknowledged(): string[] {
    return this.batches.filter(({ state }) => state === 'acknowledged').flatMap(({ ids }) => ids)
  }

  /** How often each id is stored, against what was promised of it. */
  compare(stored: ReadonlyMap<string, number>): Discrepancies {
    return {
      lost: this.acknowledged().filter((id) => !stored.has(id)),
      duplicated: [...stored].filter(([, count]) => count !== 1).map(([id]) => id),
      unsent: [...stored.keys()].filter((id) => !this.#ids.has(id)),
    }
  }

  /** As faults of a scenario. */
  faults(stored: ReadonlyMap<string, number>): string[] {
    const { lost, duplicated, unsent } = this.compare(stored)
    const sample = (ids: string[]) => `${ids.slice(0, 10).join(', ')}${ids.length > 10 ? ' …' : ''}`
    return [
      ...(lost.length > 0 ? [`${lost.length} acknowledged entries are lost: ${sample(lost)}`] : []),
      ...(duplicated.length > 0
        ? [`${duplicated.length} entries are stored twice: ${sample(duplicated)}`]
        : []),
      ...(unsent.length > 0 ? [`${unsent.length} entries nobody sent: ${sample(unsent)}`] : []),
    ]
  }
}
