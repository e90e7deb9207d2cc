import { z } from 'zod'
import type { Clock } from '../../core/base/clock.ts'
import { invalidParameter } from '../../core/base/errors.ts'
import type { Engine } from '../../core/engine/engine.ts'
import { outputJson, queryRows } from '../../core/engine/json-rows.ts'
import { maxProjectLength } from '../../core/intake/line-projects.ts'
import { assignedSql, usedSql } from './own-tables.ts'
import { defaultPlan, type Plan } from './plan.ts'
import type { ProjectUsage } from './project-usage.ts'

const limits = { deadlineMs: 60_000 }
const dayMs = 86_400_000
/** Days that the list of projects covers. */
const listedDays = 30

const day = z.iso.date({ error: 'must be a date such as 2026-11-18' }).optional()
const maxUsageRows = 100_000

export const usageQuery = z.object({
  project: z.string().max(maxProjectLength).optional().describe('Only this project. A tenant gets its own.'),
  from: day.describe('First day, UTC. Default: 30 days ago.'),
  to: day.describe('Last day, UTC. Default: today.'),
  limit: z.coerce
    .number('must be a whole number')
    .int()
    .min(1)
    .max(maxUsageRows)
    .default(maxUsageRows)
    .describe('Maximum number of rows.'),
  after: z
    .string()
    .max(maxProjectLength)
    .optional()
    .describe('Only projects after this one, by name: the last one of a response that was cut.'),
})

export const usageRow = z.object({
  project: z.string().describe('Name of the project.'),
  day: z.string().describe('UTC.'),
  entries: z.int().describe('Entries that were accepted.'),
  bytes: z.int().describe('Bytes of these entries, as they are stored: JSON with a newline.'),
  requests: z.int().describe('Requests to endpoints by tokens of the project.'),
  cache_hits: z.int().describe('Requests among them that got a cached result.'),
})
export const usageRowOfAdmins = usageRow.extend({
  engine_ms: z.number().optional().describe('Time that the engine spent on these requests. Admins only.'),
})
export type UsageRow = z.output<typeof usageRowOfAdmins>

export const projectsQuery = z.object({
  sort: z
    .enum(['entries', 'project'], { error: 'must be entries or project' })
    .default('entries')
    .describe('`entries`: the most entries first. `project`: by name.'),
  search: z
    .string()
    .max(maxProjectLength)
    .optional()
    .describe('Only projects whose name contains this text.'),
  after: z.string().max(maxProjectLength).optional().describe('Only projects after this one, by name.'),
  limit: z.coerce
    .number('must be a whole number')
    .int()
    .min(1)
    .max(10_000)
    .default(1_000)
    .describe('Maximum number.'),
})

export const projectView = z.object({
  project: z.string().describe('Name of the project.'),
  plan: z.string().describe('Name of the plan that holds: `default` if its plan was deleted or renamed.'),
  entries: z.int().describe(`Entries that were accepted in the last ${listedDays} days.`),
  bytes: z.int().describe('Bytes of these entries.'),
  last_entry_at: z.iso
    .datetime()
    .nullable()
    .describe('When its last entry was accepted. Null: none is known.'),
})
type ProjectView = z.output<typeof projectView>

interface ProjectReportOptions {
  engine: Engine
  clock: Clock
  usage: ProjectUsage
  /** The plan that holds for projects to which this name is assigned. */
  planNamed: (name: string) => Plan
}

type ListTerms = z.output<typeof projectsQuery> & { project?: string }

/** What projects used. Reads stored counts, after storing those of this service. */
export class ProjectReport {
  readonly #options: ProjectReportOptions

  constructor(options: ProjectReportOptions) {
    this.#options = options
  }

  async days(terms: z.output<typeof usageQuery>): Promise<UsageRow[]> {
    const { clock, engine, usage } = this.#options
    const { project, limit, after } = terms
    const to = terms.to ?? dayOf(clock.now())
    const from = terms.from ?? dayOf(Date.parse(to) - listedDays * dayMs)
    if (from > to) throw invalidParameter('from', 'from must not be later than to.')
    await usage.flush()
    const chosen = project === undefined ? '' : ' AND project = {project:String}'
    const later = after === undefined ? '' : ' AND project > {after:String}'
    const sql =
      'SELECT project, toString(day) AS day, sum(entries) AS entries, sum(bytes) AS bytes, sum(requests) AS requests, ' +
      `sum(hits) AS cache_hits, round(sum(engine_ms), 3) AS engine_ms FROM (${usedSql} ` +
      `WHERE day >= toDate({from:String}) AND day <= toDate({to:String})${chosen}${later} GROUP BY day, project, writer) ` +
      'GROUP BY project, day ORDER BY project, day LIMIT {limit:UInt32}'
    const parameters = { from, to, limit, project, after }
    return queryRows<UsageRow>(engine, { sql, parameters: given(parameters), settings: outputJson }, limits)
  }

  /** Projects that have a plan, or that sent entries or requests lately. */
  async list({ sort, search, after, limit, project }: ListTerms): Promise<ProjectView[]> {
    const { clock, engine, usage, planNamed } = this.#options
    await usage.flush()
    const since = dayOf(clock.now() - (listedDays - 1) * dayMs)
    const terms = [
      project !== undefined && 'project = {project:String}',
      search !== undefined && 'positionCaseInsensitiveUTF8(project, {search:String}) > 0',
      after !== undefined && 'project > {after:String}',
    ].filter(Boolean)
    const where = terms.length === 0 ? '' : `WHERE ${terms.join(' AND ')}`
    const used = `SELECT project, sum(entries) AS entries, sum(bytes) AS bytes, max(last_at) AS last FROM (${usedSql} WHERE day >= toDate({since:String}) GROUP BY day, project, writer) GROUP BY project`
    const sql =
      `SELECT project, if(max(plan) = '', '${defaultPlan}', max(plan)) AS plan, sum(entries) AS entries, sum(bytes) AS bytes, ` +
      "if(max(last) = toDateTime64(0, 3, 'UTC'), NULL, concat(replaceOne(toString(max(last)), ' ', 'T'), 'Z')) AS last_entry_at FROM (" +
      `SELECT project, '' AS plan, entries, bytes, last FROM (${used}) UNION ALL ` +
      `SELECT project, plan, 0 AS entries, 0 AS bytes, toDateTime64(0, 3, 'UTC') AS last FROM (${assignedSql()})) ${where} ` +
      `GROUP BY project ORDER BY ${sort === 'entries' ? 'entries DESC, ' : ''}project LIMIT {limit:UInt32}`
    const parameters = { since, limit, project, search, after }
    const statement = { sql, parameters: given(parameters), settings: outputJson }
    const rows = await queryRows<ProjectView>(engine, statement, limits)
    return rows.map((row) => ({ ...row, plan: planNamed(row.plan).name }))
  }
}

/** Parameters that were sent. */
function given(parameters: Readonly<Record<string, string | number | undefined>>) {
  const sent = Object.entries(parameters).filter(([, value]) => value !== undefined)
  return Object.fromEntries(sent) as Record<string, string | number>
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}
