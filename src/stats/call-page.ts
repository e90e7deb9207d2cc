import type { CacheUse, CallDetail, CallRecord, CallSubject } from './call-record.ts'

/**
 * Calls that nobody has looked at yet, column by column: writing one down makes nothing that the memory would have to be
 * cleared of later.
 */
export class CallPage {
  readonly status: Uint16Array
  readonly endedAt: Float64Array
  readonly totalMs: Float64Array
  readonly engineMs: Float64Array
  readonly rows: Float64Array
  readonly bytes: Float64Array
  readonly rowsRead: Float64Array
  readonly subject: (CallSubject | undefined)[]
  readonly cache: CacheUse[]
  readonly code: string[]
  readonly detail: (CallDetail | undefined)[]
  readonly capacity: number
  #length = 0

  constructor(capacity: number) {
    this.capacity = capacity
    this.status = new Uint16Array(capacity)
    this.endedAt = new Float64Array(capacity)
    this.totalMs = new Float64Array(capacity)
    this.engineMs = new Float64Array(capacity)
    this.rows = new Float64Array(capacity)
    this.bytes = new Float64Array(capacity)
    this.rowsRead = new Float64Array(capacity)
    this.subject = new Array(capacity).fill(undefined)
    this.cache = new Array(capacity).fill('none')
    this.code = new Array(capacity).fill('')
    this.detail = new Array(capacity).fill(undefined)
  }

  get length(): number {
    return this.#length
  }

  /** False when there is no room. */
  add(call: CallRecord): boolean {
    const at = this.#length
    if (at === this.capacity) return false
    this.status[at] = call.status
    this.endedAt[at] = call.endedAt
    this.totalMs[at] = call.totalMs
    this.engineMs[at] = call.engineMs
    this.rows[at] = call.rows
    this.bytes[at] = call.bytes
    this.rowsRead[at] = call.rowsRead
    this.subject[at] = call.subject
    this.cache[at] = call.cache
    this.code[at] = call.code
    this.detail[at] = call.detail
    this.#length = at + 1
    return true
  }

  /** One of them again; for the few that are looked at closely. */
  read(at: number): CallRecord {
    return {
      subject: this.subject[at] as CallSubject,
      status: this.status[at] as number,
      cache: this.cache[at] as CacheUse,
      endedAt: this.endedAt[at] as number,
      totalMs: this.totalMs[at] as number,
      engineMs: this.engineMs[at] as number,
      rows: this.rows[at] as number,
      bytes: this.bytes[at] as number,
      rowsRead: this.rowsRead[at] as number,
      code: this.code[at] as string,
      detail: this.detail[at],
    }
  }

  /** Lets go of what the calls were about, too. */
  clear(): void {
    this.subject.fill(undefined, 0, this.#length)
    this.detail.fill(undefined, 0, this.#length)
    this.#length = 0
  }
}
