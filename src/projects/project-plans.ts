import { z } from 'zod'
import type { Timers } from '../base/clock.ts'
import { invalidBody, invalidParameter } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { readShape } from '../base/validation.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows, writeJsonRows } from '../engine/json-rows.ts'
import { AssignedPlans, keySql } from './assigned-plans.ts'
import { defaultPlan, type Plan, projectName, unlimited } from './plan.ts'

interface ProjectPlansOptions {
  engine: Engine
  time: Timers
  log: Pick<Log, 'warn'>
  /** The plan with a name, if it exists. */
  find: (name: string) => Plan | undefined
  /** Whether other services assign plans, too. */
  shared: boolean
}

const limits = { deadlineMs: 60_000 }
const maxProjects = 1_000_000
const followEveryMs = 1_000
/** Rows of other services may become visible late. */
const overlapSeconds = 10
const keyBytes = 8

const newest = '(SELECT project, argMax(p.plan, p.at) AS plan FROM _projects AS p GROUP BY project)'

/** Which plan a project has. Assignments are in the engine, and completely in memory, so that no request waits for one. */
export class ProjectPlans {
  readonly #options: ProjectPlansOptions
  #assigned = new AssignedPlans(maxProjects)
  #onChange: () => void = () => {}
  #readUntil = ''
  #cancel: (() => void) | undefined
  #failing = false
  #stopped = false

  constructor(options: ProjectPlansOptions) {
    this.#options = options
  }

  async open(): Promise<void> {
    const { engine, shared } = this.#options
    const [last] = await queryRows<{ at: string }>(
      engine,
      { sql: `SELECT toString(now64(6, 'UTC')) AS at` },
      limits,
    )
    this.#readUntil = last?.at ?? ''
    const plans = await queryRows<{ plan: string }>(
      engine,
      { sql: `SELECT DISTINCT plan FROM _projects WHERE plan != '${defaultPlan}'` },
      limits,
    )
    for (const { plan } of plans) {
      const sql = `SELECT ${keySql} FROM ${newest} WHERE plan = {plan:String}`
      const { body } = await engine.query({ sql, parameters: { plan }, format: 'RowBinary' }, limits)
      for (let at = 0; at < body.length; at += keyBytes) this.#assigned.put(body.readBigUInt64LE(at), plan)
    }
    this.changed()
    if (shared) this.#followLater()
  }

  stop(): void {
    this.#stopped = true
    this.#cancel?.()
  }

  /** Sets what follows from changes. See `src/app/after-changes.ts`. */
  follow(onChange: () => void): void {
    this.#onChange = onChange
  }

  /** Called whenever a project may have other limits than before. */
  changed(): void {
    this.#onChange()
  }

  /** The plan that holds. A plan that does not exist counts as the default one. */
  of(project: string): Plan {
    const { find } = this.#options
    const name = this.#assigned.get(project)
    return (name === undefined ? undefined : find(name)) ?? find(defaultPlan) ?? unlimited
  }

  retentionOf(project: string | undefined): number | undefined {
    return project === undefined ? undefined : (this.of(project).retention_days ?? undefined)
  }

  /** The name of the plan that was assigned. */
  nameOf(project: string): string {
    return this.#assigned.get(project) ?? defaultPlan
  }

  /** Whether a plan is assigned to a project, and the names of some. */
  async users(plan: string, most: number): Promise<string[]> {
    if (this.#assigned.count(plan) === 0) return []
    const sql = `SELECT project FROM ${newest} WHERE plan = {plan:String} ORDER BY project LIMIT ${most}`
    const rows = await queryRows<{ project: string }>(
      this.#options.engine,
      { sql, parameters: { plan } },
      limits,
    )
    return rows.map(({ project }) => project)
  }

  /** Throws if the project cannot have the plan. */
  check(project: string, plan: string): void {
    readShape(projectShape, { project })
    if (plan !== defaultPlan && !this.#options.find(plan)) {
      throw invalidParameter('plan', `No plan has the name "${plan}". Create it first, or use default.`)
    }
    if (plan !== defaultPlan && this.#assigned.isFull && this.nameOf(project) === defaultPlan) {
      throw invalidBody(`At most ${maxProjects} projects can have a plan. Others have the plan default.`)
    }
  }

  async assign(project: string, plan: string): Promise<void> {
    this.check(project, plan)
    const target = { table: '_projects', format: 'JSONEachRow' } as const
    await this.#options.engine.insert(target, writeJsonRows([{ project, plan }]), limits)
    this.#assigned.set(project, plan)
    this.changed()
  }

  #followLater(): void {
    if (this.#stopped) return
    this.#cancel = this.#options.time.after(followEveryMs, () => {
      void this.#follow()
        .then(() => {
          this.#failing = false
        })
        .catch((error) => {
          if (!this.#failing) this.#options.log.warn({ err: error }, 'cannot read the plans of projects')
          this.#failing = true
        })
        .finally(() => this.#followLater())
    })
  }

  async #follow(): Promise<void> {
    const sql =
      'SELECT project, plan, toString(p.at) AS read_at FROM _projects AS p ' +
      `WHERE p.at > toDateTime64({since:String}, 6, 'UTC') - INTERVAL ${overlapSeconds} SECOND ORDER BY p.at`
    const statement = { sql, parameters: { since: this.#readUntil } }
    const rows = await queryRows<{ project: string; plan: string; read_at: string }>(
      this.#options.engine,
      statement,
      limits,
    )
    let isChanged = false
    for (const { project, plan, read_at } of rows) {
      // In the order of time.
      this.#readUntil = read_at
      if (this.#assigned.get(project) === plan) continue
      this.#assigned.set(project, plan)
      isChanged = true
    }
    if (isChanged) this.changed()
  }
}

const projectShape = z.object({ project: projectName })
