import { z } from 'zod'
import type { Timers } from '../../core/base/clock.ts'
import { invalidBody, invalidParameter } from '../../core/base/errors.ts'
import type { Log } from '../../core/base/log.ts'
import { repeat } from '../../core/base/repeat.ts'
import { readShape } from '../../core/base/validation.ts'
import { followEveryMs, isNewSql } from '../../core/catalog/own-tables.ts'
import type { Engine } from '../../core/engine/engine.ts'
import { queryRows, queryText, writeJsonRows } from '../../core/engine/json-rows.ts'
import { assignedSql } from './own-tables.ts'
import { defaultPlan, type Plan, projectName, unlimited } from './plan.ts'

interface ProjectPlansOptions {
  engine: Pick<Engine, 'query' | 'insert'>
  time: Timers
  log: Pick<Log, 'warn'>
  /** The plan with a name, if it exists. */
  find: (name: string) => Plan | undefined
  /** Whether other services assign plans, too. */
  shared: boolean
}

const limits = { deadlineMs: 60_000 }
const maxProjects = 1_000_000

/** Names that one response has at most. */
const maxReadBytes = 24 * 2 ** 20

/** Which plan a project has. Assignments are in the engine, and completely in memory, so that no request waits for one. */
export class ProjectPlans {
  readonly #options: ProjectPlansOptions
  /** Those of projects that have another plan than the default one. */
  readonly #assigned = new Map<string, string>()
  #onChange: () => void = () => {}
  #readUntil = ''
  /** Projects that this service assigned since the last read of new rows began. */
  #assignedSince: Set<string> | undefined
  #following: ReturnType<typeof repeat> | undefined

  constructor(options: ProjectPlansOptions) {
    this.#options = options
  }

  async open(): Promise<void> {
    const { engine, time, log, shared } = this.#options
    this.#readUntil = await queryText(engine, { sql: `SELECT now64(6, 'UTC')` }, limits)
    await this.#readAll()
    this.changed()
    if (!shared) return
    this.#following = repeat({
      time,
      everyMs: followEveryMs,
      work: () => this.#follow(),
      onFailure: (error) => log.warn({ err: error }, 'cannot read the plans of projects'),
    })
  }

  async #readAll(): Promise<void> {
    const { engine } = this.#options
    const bytes = await queryText(engine, { sql: 'SELECT sum(length(project) + 9) FROM _projects' }, limits)
    const parts = 1 + Math.floor(Number(bytes) / maxReadBytes)
    const sql = `SELECT DISTINCT plan FROM _projects WHERE plan != '${defaultPlan}'`
    for (const { plan } of await queryRows<{ plan: string }>(engine, { sql }, limits)) {
      for (let part = 0; part < parts; part++) {
        const ofPlan = `SELECT project FROM (${assignedSql()}) WHERE plan = {plan:String} AND cityHash64(project) % ${parts} = ${part}`
        const statement = { sql: ofPlan, parameters: { plan }, format: 'TabSeparatedRaw' } as const
        const { body } = await engine.query(statement, limits)
        // Names have no control characters.
        for (const name of body.toString().split('\n')) if (name !== '') this.#assigned.set(name, plan)
      }
    }
  }

  async stop(): Promise<void> {
    await this.#following?.stop()
  }

  /** Sets the listener for changes of limits. */
  follow(onChange: () => void): void {
    this.#onChange = onChange
  }

  /** Called whenever a project may have other limits than before. */
  changed(): void {
    this.#onChange()
  }

  /** The plan that holds. A plan that does not exist counts as the default one. */
  of(project: string): Plan {
    return this.named(this.#assignedTo(project))
  }

  /** The plan that holds for projects to which this name is assigned. */
  named(name: string): Plan {
    const { find } = this.#options
    return find(name) ?? find(defaultPlan) ?? unlimited
  }

  retentionOf(project: string | undefined): number | undefined {
    return project === undefined ? undefined : (this.of(project).retention_days ?? undefined)
  }

  /** The name of the plan that was assigned, which may not exist anymore. */
  #assignedTo(project: string): string {
    return this.#assigned.get(project) ?? defaultPlan
  }

  /** Whether a plan is assigned to a project, and the names of some. */
  async users(plan: string, most: number): Promise<string[]> {
    const sql = `SELECT project FROM (${assignedSql()}) WHERE plan = {plan:String} ORDER BY project LIMIT ${most}`
    const statement = { sql, parameters: { plan } }
    const rows = await queryRows<{ project: string }>(this.#options.engine, statement, limits)
    return rows.map(({ project }) => project)
  }

  /** Throws if the project cannot have the plan. */
  check(project: string, plan: string): void {
    readShape(projectShape, { project })
    if (plan !== defaultPlan && !this.#options.find(plan)) {
      throw invalidParameter('plan', `No plan has the name "${plan}". Create it first, or use default.`)
    }
    const isFull = this.#assigned.size >= maxProjects
    if (plan !== defaultPlan && isFull && !this.#assigned.has(project)) {
      throw invalidBody(`At most ${maxProjects} projects can have a plan. Others have the plan default.`)
    }
  }

  async assign(project: string, plan: string): Promise<void> {
    this.check(project, plan)
    // A row would be the time of the assignment, which delays the deletion of what the plan hides.
    if (this.#assignedTo(project) === plan && (await this.#storedPlan(project)) === plan) return
    const target = { table: '_projects', format: 'JSONEachRow' } as const
    await this.#options.engine.insert(target, writeJsonRows([{ project, plan }]), limits)
    this.#assignedSince?.add(project)
    this.#take(project, plan)
    this.changed()
  }

  async #storedPlan(project: string): Promise<string> {
    const sql = `SELECT plan FROM (${assignedSql()}) WHERE project = {project:String}`
    const rows = await queryRows<{ plan: string }>(
      this.#options.engine,
      { sql, parameters: { project } },
      limits,
    )
    return rows[0]?.plan ?? defaultPlan
  }

  #take(project: string, plan: string): void {
    if (plan === defaultPlan) this.#assigned.delete(project)
    else this.#assigned.set(project, plan)
  }

  async #follow(): Promise<void> {
    const sql =
      'SELECT project, plan, toString(p.at) AS read_at FROM _projects AS p ' +
      `WHERE ${isNewSql('p.at')} ORDER BY p.at`
    const statement = { sql, parameters: { since: this.#readUntil } }
    type Row = { project: string; plan: string; read_at: string }
    const assigned = new Set<string>()
    this.#assignedSince = assigned
    const rows = await queryRows<Row>(this.#options.engine, statement, limits)
    let isChanged = false
    for (const { project, plan, read_at } of rows) {
      // In the order of time.
      this.#readUntil = read_at
      // The row may be older than what was assigned meanwhile, which the next read has.
      if (assigned.has(project) || this.#assignedTo(project) === plan) continue
      this.#take(project, plan)
      isChanged = true
    }
    if (isChanged) this.changed()
  }
}

const projectShape = z.object({ project: projectName })
