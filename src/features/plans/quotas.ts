import type { Admission } from '../../core/intake/admission.ts'
import { type ProjectLines, type ProjectRun, projectRuns } from '../../core/intake/line-projects.ts'
import type { Counts, DayCount } from './day-counts.ts'
import { limitsDay, type Plan } from './plan.ts'
import type { ProjectUsage } from './project-usage.ts'
import type { PendingCounts } from './usage-journal.ts'

interface QuotasOptions {
  usage: ProjectUsage
  planOf: (project: string) => Plan
}

type Unit = keyof Counts
const units = ['entries', 'bytes'] as const
const limitOf = { entries: 'entries_per_day', bytes: 'bytes_per_day' } as const

/** Percentages that are reported. */
const reported = [80, 100]

/** What may be stored of the lines of a request, by the limits of the day. Counts every project. */
export class Quotas {
  readonly #options: QuotasOptions

  constructor(options: QuotasOptions) {
    this.#options = options
  }

  /** See `Committer`. */
  get pending() {
    return this.#options.usage.pending
  }

  /** The lines of a request, and those that the quarantine would keep of it. */
  async admit(lines: ProjectLines, rejected: ProjectLines): Promise<Admission> {
    const { usage, planOf } = this.#options
    await usage.room()
    const countedRuns = (of: ProjectLines) =>
      [...projectRuns(of)].flatMap((run) => {
        if (run.project === '') return []
        const plan = planOf(run.project)
        const count = usage.countOf(run.project)
        return [
          { run, count, plan, isLimited: limitsDay(plan), reserved: countsOf(run), full: new Set<Unit>() },
        ]
      })
    const runs = countedRuns(lines)
    const limited = runs.filter(({ isLimited }) => isLimited)
    const quarantined = countedRuns(rejected).filter(({ isLimited }) => isLimited)
    const read = new Set([...limited, ...quarantined].map(({ count }) => count))
    if (read.size > 0) await usage.know([...read])
    const over = new Set<number>()
    for (const one of limited) {
      const { run, count, plan, full } = one
      one.reserved = take(lines, run, leftOf(plan, count), over, full)
      for (const unit of units) count.reserved[unit] += one.reserved[unit]
    }
    const notKept = new Set<number>()
    for (const { run, count, plan, full } of quarantined) {
      const kept = take(rejected, run, leftOf(plan, count, count.quarantined), notKept, full)
      for (const unit of units) count.quarantined[unit] += kept[unit]
    }
    const admitted = runs.map(({ count, reserved }) => ({ count, counts: reserved }))
    const pending: PendingCounts = { counted: admitted.filter(({ counts }) => counts.entries > 0) }
    return {
      over,
      notKept,
      counts: pending,
      stored: (refused = new Map()) => {
        const counted = runs.map(({ run, count, reserved }) => ({
          count,
          counts: refused.size === 0 ? reserved : countsWithout(lines, run, over, refused),
        }))
        usage.stored(
          counted.filter(({ counts }) => counts.entries > 0),
          pending,
        )
        for (const { count, plan, isLimited, full } of runs) {
          if (!isLimited) continue
          for (const unit of units) this.#report(count, plan, unit, full.has(unit) ? 100 : 0)
        }
      },
      release: () => {
        for (const { count, reserved } of limited) {
          for (const unit of units) count.reserved[unit] -= reserved[unit]
        }
      },
    }
  }

  #report(count: DayCount, plan: Plan, unit: Unit, least: number): void {
    const limit = limitOf[unit]
    const max = plan[limit]
    if (max === null) return
    const used = count[unit] + (count.others?.[unit] ?? 0)
    const reached = Math.max(least, (100 * used) / max)
    const { day, project } = count
    for (const percent of reported) {
      if (percent > reached || percent <= (count.told[limit] ?? 0)) continue
      count.told[limit] = percent
      this.#options.usage.report(count, { day, project, plan: plan.name, limit, percent, used, max })
    }
  }
}

/** Lines that fit into what is left of the day, one by one. */
function take(
  lines: ProjectLines,
  run: ProjectRun,
  left: Counts,
  over: Set<number>,
  full: Set<Unit>,
): Counts {
  if (run.to - run.from <= left.entries && run.bytes <= left.bytes) return countsOf(run)
  const taken = { entries: 0, bytes: 0 }
  for (let line = run.from; line < run.to; line++) {
    const bytes = lengthOf(lines, line)
    const missing = taken.entries >= left.entries ? 'entries' : taken.bytes + bytes > left.bytes && 'bytes'
    if (missing) {
      over.add(line)
      full.add(missing)
    } else {
      taken.entries++
      taken.bytes += bytes
    }
  }
  return taken
}

function leftOf(plan: Plan, count: DayCount, more = { entries: 0, bytes: 0 }): Counts {
  const left = (unit: Unit) => {
    const max = plan[limitOf[unit]]
    const used = count[unit] + count.reserved[unit] + (count.others?.[unit] ?? 0) + more[unit]
    return max === null ? Infinity : max - used
  }
  return { entries: left('entries'), bytes: left('bytes') }
}

function countsOf({ from, to, bytes }: ProjectRun): Counts {
  return { entries: to - from, bytes }
}

function countsWithout(
  lines: ProjectLines,
  { from, to }: ProjectRun,
  over: ReadonlySet<number>,
  refused: ReadonlyMap<number, unknown>,
): Counts {
  const counts = { entries: 0, bytes: 0 }
  for (let line = from; line < to; line++) {
    if (over.has(line) || refused.has(line)) continue
    counts.entries++
    counts.bytes += lengthOf(lines, line)
  }
  return counts
}

function lengthOf({ ends }: ProjectLines, line: number): number {
  return (ends[line] as number) - (line === 0 ? 0 : (ends[line - 1] as number))
}
