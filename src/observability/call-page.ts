import {
  type CacheUse,
  type CallDetail,
  type CallRecord,
  type CallSubject,
  cacheUses,
} from './call-record.ts'

/** Places of the numbers of a call; eight of them are one line of the processor's cache. */
const at = {
  status: 0,
  cache: 1,
  endedAt: 2,
  totalMs: 3,
  engineMs: 4,
  rows: 5,
  bytes: 6,
  rowsRead: 7,
} as const
const width = 8

interface Rare {
  code: string
  detail: CallDetail | undefined
}

const none: Rare = { code: '', detail: undefined }

/**
 * Calls that nobody has looked at yet. Writing one down touches as little memory as can be and leaves nothing behind that
 * would have to be cleared away.
 */
export class CallPage {
  readonly capacity: number
  readonly #numbers: Float64Array
  readonly #subjects: (CallSubject | undefined)[]
  /** Only of calls that were not answered from the cache. */
  readonly #rare = new Map<number, Rare>()
  #length = 0

  constructor(capacity: number) {
    this.capacity = capacity
    this.#numbers = new Float64Array(capacity * width)
    this.#subjects = new Array(capacity).fill(undefined)
  }

  get length(): number {
    return this.#length
  }

  /** False when there is no room. */
  add(call: CallRecord): boolean {
    const index = this.#length
    if (index === this.capacity) return false
    const numbers = this.#numbers
    const start = index * width
    numbers[start + at.status] = call.status
    numbers[start + at.cache] = cacheUses.indexOf(call.cache)
    numbers[start + at.endedAt] = call.endedAt
    numbers[start + at.totalMs] = call.totalMs
    numbers[start + at.engineMs] = call.engineMs
    numbers[start + at.rows] = call.rows
    numbers[start + at.bytes] = call.bytes
    numbers[start + at.rowsRead] = call.rowsRead ?? Number.NaN
    this.#subjects[index] = call.subject
    const { code, detail } = call
    if (code !== '' || detail !== undefined) this.#rare.set(index, { code, detail })
    this.#length = index + 1
    return true
  }

  subject(index: number): CallSubject {
    return this.#subjects[index] as CallSubject
  }

  cache(index: number): CacheUse {
    return cacheUses[this.number(index, 'cache')] as CacheUse
  }

  code(index: number): string {
    return (this.#rare.get(index) ?? none).code
  }

  detail(index: number): CallDetail | undefined {
    return this.#rare.get(index)?.detail
  }

  number(index: number, name: keyof typeof at): number {
    return this.#numbers[index * width + at[name]] as number
  }

  /** One of them again; for the few that are looked at closely. */
  read(index: number): CallRecord {
    const rowsRead = this.number(index, 'rowsRead')
    return {
      subject: this.subject(index),
      status: this.number(index, 'status'),
      cache: this.cache(index),
      endedAt: this.number(index, 'endedAt'),
      totalMs: this.number(index, 'totalMs'),
      engineMs: this.number(index, 'engineMs'),
      rows: this.number(index, 'rows'),
      bytes: this.number(index, 'bytes'),
      rowsRead: Number.isNaN(rowsRead) ? undefined : rowsRead,
      ...(this.#rare.get(index) ?? none),
    }
  }

  /** Lets go of what the calls were about, too. */
  clear(): void {
    this.#subjects.fill(undefined, 0, this.#length)
    this.#rare.clear()
    this.#length = 0
  }
}
