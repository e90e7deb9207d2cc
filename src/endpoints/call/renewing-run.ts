import { hash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Arrivals } from '../../catalog/arrivals.ts'
import type { Span } from '../definition/definition.ts'
import type { RunResult, Part } from './endpoint-runner.ts'
import { bodyOf, inBuckets, planRenewal, rowsOf, splice } from './incremental.ts'

export interface RenewingRunOptions {
  run: (part: Part) => Promise<RunResult>
  clock: Clock
  arrivals: Arrivals
  /** Sources that the query may read. */
  sources: readonly string[]
  column: string
  span: Span
  wholeBuckets: boolean
  maxRows: number
}

export interface OldResult {
  readonly body: Buffer
  readonly truncated: boolean
}

/** So many renewals in a row may build on each other. */
const maxInARow = 11

/** Runs a query of which the result of the last run is still there: as little of it as gives the same result. */
export class RenewingRun {
  /** When the last run was, and what it cannot have seen. */
  #last: { nowMicros: bigint; mark: number; digest: string } | undefined
  #inARow = 0

  async run(old: OldResult | undefined, options: RenewingRunOptions): Promise<RunResult | 'unchanged'> {
    const nowMicros = BigInt(options.clock.now()) * 1000n
    // Taken before the run: what comes while it runs may or may not be in its result, and counts as new next time.
    const mark = options.arrivals.mark()
    // Not every result is kept: only what this very run gave can be built on.
    const known = old && this.#last?.digest === digestOf(old.body) ? old : undefined
    const renewed = known && (await this.#renew(known, nowMicros, options))
    const answer = renewed ?? (await options.run({ nowMicros }))
    this.#inARow = renewed === undefined ? 0 : this.#inARow + 1
    const { body } = answer === 'unchanged' ? (known as OldResult) : answer
    this.#last = { nowMicros, mark, digest: digestOf(body) }
    return answer
  }

  async #renew(
    old: OldResult,
    nowMicros: bigint,
    { run, arrivals, sources, column, span, wholeBuckets, maxRows }: RenewingRunOptions,
  ): Promise<RunResult | 'unchanged' | undefined> {
    if (!this.#last || old.truncated || this.#inARow >= maxInARow) return undefined
    const rows = bucketRows(old.body, column)
    const { unchanged, part } = planRenewal({
      span,
      wholeBuckets,
      beforeMicros: this.#last.nowMicros,
      nowMicros,
      earliestMicros: arrivals.earliestSince(this.#last.mark, sources),
    })
    if (!rows) return undefined
    if (unchanged && !rows.some(({ bucket }) => bucket === unchanged.unlessIn)) return 'unchanged'
    if (!part) return undefined
    const answer = await run({ nowMicros, range: part.range })
    const fresh = answer.truncated ? undefined : bucketRows(answer.body, column)
    const spliced = fresh && splice(rows, fresh, part.kept)
    if (!spliced || spliced.length > maxRows) return undefined
    return { ...answer, body: bodyOf(spliced), rows: spliced.length }
  }
}

function bucketRows(body: Buffer, column: string) {
  const rows = rowsOf(body)
  return rows && inBuckets(rows, column)
}

function digestOf(body: Buffer): string {
  return hash('sha256', body, 'base64')
}
