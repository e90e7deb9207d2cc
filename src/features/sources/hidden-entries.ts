import type { Clock } from '../../core/base/clock.ts'
import { deletionTime } from '../../core/base/delayed-deletion.ts'
import type { DefinitionChange } from '../../core/definitions/kind.ts'
import type { Engine } from '../../core/engine/engine.ts'
import { queryRows } from '../../core/engine/json-rows.ts'
import { type HiddenRows, rowFilterSettings } from '../../core/sql/isolation.ts'
import { sqlName } from '../../core/sql/names.ts'
import { isoText } from '../../shared/timestamps.ts'

interface HiddenEntriesOptions {
  engine: Engine
  clock: Clock
  /** Rows that are hidden already. */
  hidden: () => HiddenRows | undefined
  /** How long entries stay on the disk after a change has hidden them. */
  deleteAfterMs: number
}

/** A shorter retention: what it concerns, and a condition for the entries of each source that it hides. */
interface Shortening {
  kind: string
  /** Such as `retention_days 90 → 7`. */
  what: string
  conditions: readonly { source: string; sql: string }[]
}

const limits = { deadlineMs: 60_000 }
/** Sources that are counted by one statement. */
const countedAtOnce = 16
const maxCountedProjects = 1_000

/** Describes changes that hide entries and delete them later: how many, and the oldest one. */
export class HiddenEntries {
  readonly #options: HiddenEntriesOptions

  constructor(options: HiddenEntriesOptions) {
    this.#options = options
  }

  now(): number {
    return this.#options.clock.now()
  }

  async change({ kind, what, conditions }: Shortening): Promise<DefinitionChange> {
    const { clock, deleteAfterMs } = this.#options
    const { entries, projects, oldest } = await this.#count(conditions)
    const day = new Date(deletionTime(clock.now(), deleteAfterMs)).toISOString().slice(0, 10)
    const since = entries === 1 ? `from ${oldest}` : `the oldest from ${oldest}`
    const later = conditions.length === 0 ? '' : ' now, and later ones are hidden sooner than before'
    const effect =
      entries === 0
        ? `no entries are hidden${later}`
        : `${counted(entries, 'entry', 'entries')}${ofProjects(projects)}, ${since}, will be hidden at once and deleted on ${day}`
    return { kind, breaking: true, message: `${what}; ${effect}`, entries, oldest }
  }

  async #count(conditions: Shortening['conditions']) {
    const { engine, hidden } = this.#options
    let entries = 0
    let oldest: bigint | undefined
    const projects = new Set<string>()
    for (let first = 0; first < conditions.length; first += countedAtOnce) {
      const some = conditions.slice(first, first + countedAtOnce)
      const counts = some.map(
        ({ source, sql }) =>
          `SELECT count() AS entries, toString(toUnixTimestamp64Micro(min(timestamp))) AS oldest, groupUniqArrayIf(${maxCountedProjects + 1})(hex(cityHash64(project)), project != '') AS projects FROM ${sqlName(source)} WHERE ${sql}`,
      )
      const filter = { hidden: hidden() }
      const names = some.map(({ source }) => source)
      const settings = rowFilterSettings(engine.database, names, filter)
      const statement = { sql: counts.join(' UNION ALL '), settings }
      type Row = { entries: string; oldest: string; projects: string[] }
      for (const row of await queryRows<Row>(engine, statement, limits)) {
        for (const project of row.projects) projects.add(project)
        const count = Number(row.entries)
        entries += count
        const micros = BigInt(row.oldest)
        if (count > 0 && (oldest === undefined || micros < oldest)) oldest = micros
      }
    }
    return { entries, projects: projects.size, oldest: oldest === undefined ? null : isoText(oldest) }
  }
}

function counted(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`
}

/** Entries without a project belong to none. */
function ofProjects(count: number): string {
  if (count === 0) return ''
  if (count > maxCountedProjects) return ` of more than ${maxCountedProjects} projects`
  return ` of ${counted(count, 'project', 'projects')}`
}
