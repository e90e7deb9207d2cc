import type { BreakingChange } from '../../core/base/errors.ts'
import { olderSql } from '../../core/sql/isolation.ts'
import { sqlText } from '../../core/sql/names.ts'
import type { HiddenEntries } from '../sources/index.ts'
import { assignedSql } from './own-tables.ts'
import { defaultPlan, type Plan } from './plan.ts'
import type { ProjectPlans } from './project-plans.ts'

/** Days that tenants see. Null: as long as the sources keep entries. */
type Days = number | null

/** A shorter retention of the projects that a condition selects. */
export interface LoweredRetention {
  projects: string
  before: Days
  after: Days
}

export interface KeptSource {
  name: string
  retention_days: number
}

/** A plan that does not exist counts as the default one. */
export function planDays(plans: readonly Plan[], name: string): Days {
  const named = (wanted: string) => plans.find((plan) => plan.name === wanted)
  return (named(name) ?? named(defaultPlan))?.retention_days ?? null
}

export function isShorter(after: Days, before: Days): boolean {
  return after !== null && (before === null || after < before)
}

/** Condition for projects to which one of these plans is assigned. */
export function havingPlan(names: readonly string[], database: string): string {
  const assigned = assignedSql(`${database}._projects`)
  return `project IN (SELECT project FROM (${assigned}) WHERE plan IN (${names.map(sqlText).join(', ')}))`
}

/** Condition for projects that have the default plan, because none of these others is assigned to them. */
export function withoutPlan(others: readonly string[], database: string): string {
  return others.length === 0 ? `project != ''` : `project != '' AND NOT (${havingPlan(others, database)})`
}

export function shownDays(days: Days): string {
  return days === null ? 'none' : String(days)
}

interface AssignmentParts {
  hiddenEntries: HiddenEntries
  sources: { list(): readonly KeptSource[] }
  plans: Pick<ProjectPlans, 'of' | 'named'>
}

/** Undefined if the project sees all of its entries with the plan, as a new one does. */
export async function assignmentChange(
  { hiddenEntries, sources, plans }: AssignmentParts,
  project: string,
  plan: string,
): Promise<BreakingChange | undefined> {
  const current = plans.of(project)
  const [before, after] = [current.retention_days, plans.named(plan).retention_days]
  if (!isShorter(after, before)) return undefined
  const days = `retention_days ${shownDays(before)} → ${shownDays(after)}`
  const { message, ...change } = await retentionChange(hiddenEntries, sources.list(), {
    kind: 'plan_changed',
    what: `plan ${current.name} → ${plan} (${days})`,
    lowered: [{ projects: `project = ${sqlText(project)}`, before, after }],
  })
  return change.entries === 0 ? undefined : { definition: `projects/${project}`, ...change, message }
}

/** The change of a definition, or of the plan of a project, that shortens what tenants see. */
export function retentionChange(
  hiddenEntries: HiddenEntries,
  sources: readonly KeptSource[],
  { kind, what, lowered }: { kind: string; what: string; lowered: readonly LoweredRetention[] },
) {
  const nowMs = hiddenEntries.now()
  const conditions = sources.flatMap(({ name: source, retention_days: kept }) => {
    const terms = lowered.flatMap(({ projects, before, after }) => {
      // Entries leave a source up to a day late.
      if (after === null || after > kept) return []
      const wasShown = before === null ? '' : ` AND NOT (${olderSql(before, nowMs)})`
      return [`(${projects} AND ${olderSql(after, nowMs)}${wasShown})`]
    })
    return terms.length === 0 ? [] : [{ source, sql: terms.join(' OR ') }]
  })
  return hiddenEntries.change({ kind, what, conditions })
}
