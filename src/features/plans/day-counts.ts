import { randomUUID } from 'node:crypto'

export interface Counts {
  entries: number
  bytes: number
}

/** What a project used on a day, as far as this service counted it. */
export interface DayCount extends Counts {
  readonly day: string
  readonly project: string
  /** The totals below are those of this writer alone, and never decrease: its newest row in the engine counts. */
  readonly writer: string
  requests: number
  hits: number
  engineMs: number
  lastMs: number
  /** What is being stored at the moment. */
  reserved: Counts
  /** Rejected entries that the quarantine keeps. Not stored: a service that starts again keeps some more. */
  quarantined: Counts
  /** What other writers stored, when that was read last. Undefined: not read yet. */
  others: Counts | undefined
  readAtMs: number
  /** The highest percentage that was reported, by limit. */
  told: Record<string, number>
}

/** A limit of a day that a project has used up to this percentage. */
export interface QuotaEvent {
  day: string
  project: string
  plan: string
  limit: 'entries_per_day' | 'bytes_per_day'
  percent: number
  used: number
  max: number
}

const dayMs = 86_400_000

/** The counts of the current day in memory. What is forgotten is in the engine, and continues as another writer. */
export class DayCounts {
  readonly #max: number
  readonly #service = randomUUID()
  #day = ''
  #dayEndsMs = -Infinity
  #writers = 0
  #forgetAt: number
  #byProject = new Map<string, DayCount>()
  /** Counts that the engine lacks, also of the day before. */
  #changed = new Set<DayCount>()

  constructor(max: number) {
    this.#max = max
    this.#forgetAt = max
  }

  get day(): string {
    return this.#day
  }

  get isFull(): boolean {
    return this.#changed.size >= this.#max
  }

  /** A clock that is set back does not change a day that is over, unless it was more than a day ahead. */
  begin(nowMs: number): void {
    if (nowMs < this.#dayEndsMs && nowMs >= this.#dayEndsMs - 2 * dayMs) return
    this.#dayEndsMs = (Math.floor(nowMs / dayMs) + 1) * dayMs
    this.#day = new Date(nowMs).toISOString().slice(0, 10)
    this.#byProject = new Map()
  }

  of(project: string): DayCount {
    const known = this.#byProject.get(project)
    if (known) return known
    if (this.#byProject.size >= this.#forgetAt) this.#forget()
    const count: DayCount = {
      day: this.#day,
      project,
      writer: `${this.#service}-${++this.#writers}`,
      entries: 0,
      bytes: 0,
      requests: 0,
      hits: 0,
      engineMs: 0,
      lastMs: 0,
      reserved: { entries: 0, bytes: 0 },
      quarantined: { entries: 0, bytes: 0 },
      others: undefined,
      readAtMs: 0,
      told: {},
    }
    this.#byProject.set(project, count)
    return count
  }

  list(): DayCount[] {
    return [...this.#byProject.values()]
  }

  change(count: DayCount): void {
    this.#changed.add(count)
  }

  take(): DayCount[] {
    const taken = [...this.#changed]
    this.#changed = new Set()
    return taken
  }

  /** Keeps what the engine lacks: it could not be read back. The next time is later, since most may have been kept. */
  #forget(): void {
    for (const [project, count] of this.#byProject) {
      const isStored = !this.#changed.has(count) && count.reserved.entries === 0
      if (isStored) this.#byProject.delete(project)
    }
    this.#forgetAt = Math.max(this.#max, 2 * this.#byProject.size)
  }
}
