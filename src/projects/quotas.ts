import type { Counts, DayCount } from './day-counts.ts'
import { type ProjectLines, type ProjectRun, projectRuns } from './line-projects.ts'
import { limitsDay, type Plan } from './plan.ts'
import type { ProjectUsage } from './project-usage.ts'

export const quotaExceededReason = 'quota_exceeded'

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

interface QuotasOptions {
  usage: ProjectUsage
  planOf: (project: string) => Plan
  onEvent: (event: QuotaEvent) => void
}

/** Which lines of a request may be stored. */
export interface Admission {
  /** Indices of lines of projects that have used up their day. */
  over: ReadonlySet<number>
  /** Counts the lines that were stored: all others but these. */
  stored(refused?: ReadonlyMap<number, unknown>): void
  /** Must be called at the end, whether or not lines were stored. */
  release(): void
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

  async admit(lines: ProjectLines): Promise<Admission> {
    const { usage, planOf } = this.#options
    await usage.room()
    const runs = [...projectRuns(lines)].flatMap((run) => {
      const count = usage.countOf(run.project)
      if (!count) return []
      const plan = planOf(run.project)
      return [{ run, count, plan, isLimited: limitsDay(plan), reserved: countsOf(run) }]
    })
    const limited = runs.filter(({ isLimited }) => isLimited)
    if (limited.length > 0) await usage.know([...new Set(limited.map(({ count }) => count))])
    const over = new Set<number>()
    for (const one of limited) {
      const { run, count, plan } = one
      const full = new Set<Unit>()
      one.reserved = take(lines, run, leftOf(plan, count), over, full)
      for (const unit of units) count.reserved[unit] += one.reserved[unit]
      for (const unit of full) this.#report(count, plan, unit, 100)
    }
    return {
      over,
      stored: (refused = new Map()) => {
        for (const { run, plan, isLimited, reserved } of runs) {
          const { entries, bytes } = refused.size === 0 ? reserved : countsWithout(lines, run, over, refused)
          if (entries === 0) continue
          const count = usage.stored(run.project, { entries, bytes })
          if (isLimited) for (const unit of units) this.#report(count, plan, unit)
        }
      },
      release: () => {
        for (const { count, reserved } of limited) {
          for (const unit of units) count.reserved[unit] -= reserved[unit]
        }
      },
    }
  }

  #report(count: DayCount, plan: Plan, unit: Unit, least = 0): void {
    const limit = limitOf[unit]
    const max = plan[limit]
    if (max === null) return
    const used = count[unit] + (count.others?.[unit] ?? 0)
    const reached = Math.max(least, (100 * used) / max)
    const { day, project } = count
    for (const percent of reported) {
      if (percent > reached || percent <= (count.told[limit] ?? 0)) continue
      count.told[limit] = percent
      this.#options.onEvent({ day, project, plan: plan.name, limit, percent, used, max })
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

function leftOf(plan: Plan, count: DayCount): Counts {
  const left = (unit: Unit) => {
    const max = plan[limitOf[unit]]
    return max === null ? Infinity : max - count[unit] - count.reserved[unit] - (count.others?.[unit] ?? 0)
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
