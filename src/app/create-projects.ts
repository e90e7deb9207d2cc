import type { PlanLimits } from '../access/caller.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { Items } from '../catalog/items.ts'
import type { Sources } from '../catalog/sources.ts'
import { shippedBy } from '../definitions/definitions.ts'
import { topologyOf } from '../engine/cluster/cluster-engine.ts'
import type { Engine } from '../engine/engine.ts'
import { ErasureFile } from '../projects/erasure-file.ts'
import { Erasures } from '../projects/erasures.ts'
import { defaultPlan, readPlan } from '../projects/plan.ts'
import { plans as planForm } from '../projects/plan-kind.ts'
import { ProjectPlans } from '../projects/project-plans.ts'
import { ProjectReport } from '../projects/project-report.ts'
import { ProjectUsage } from '../projects/project-usage.ts'
import { QuotaEvents, type StoreLines } from '../projects/quota-events.ts'
import { Quotas } from '../projects/quotas.ts'
import { RetentionSweep } from '../projects/retention-sweep.ts'
import type { Tables } from '../tables/tables.ts'
import type { ServiceOptions } from './service-options.ts'

export type Projects = ReturnType<typeof createProjects>

interface ProjectParts {
  engine: Engine
  catalog: Catalog
  sources: Sources
  tables: Tables
  shared: boolean
}

/** What belongs to projects as a whole: plans, usage, and erasure. */
export function createProjects(
  { settings, time, log }: ServiceOptions,
  { engine, catalog, sources, tables, shared }: ProjectParts,
) {
  const topology = () => topologyOf(engine)
  const definitions = new Items(catalog, planForm, readPlan)
  const plans = new ProjectPlans({
    ...{ engine, time, log, shared },
    find: (name) => definitions.named(name)?.definition,
  })
  const planOf = plans.of.bind(plans)
  const events = new QuotaEvents(time.wall)
  const usage = new ProjectUsage({
    ...{ engine, time, log, shared, planOf },
    afterFlush: () => events.flush(),
  })
  const erasures = new Erasures({
    ...{ engine, time, log, topology, shared },
    sourceOf: (name) => sources.get(name, () => true).name,
    sources: () => sources.list(),
    file: new ErasureFile(settings.dataDir),
    eraseTables: (project) => tables.eraseProject(project, shippedBy),
  })
  const sweep = new RetentionSweep({
    ...{ engine, time, log, topology },
    plans: () => definitions.list().map(({ definition }) => definition),
    sources: () => sources.list(),
  })
  return {
    definitions,
    plans,
    usage,
    quotas: new Quotas({ usage, planOf, onEvent: (event) => events.add(event) }),
    report: new ProjectReport({ engine, clock: time.wall, usage }),
    erasures,
    async open(storeEvents: StoreLines) {
      events.open(storeEvents)
      await plans.open()
      await erasures.open()
      sweep.start()
    },
    async stop() {
      plans.stop()
      await sweep.stop()
      await erasures.stop()
    },
    /** What the plan of a project means for its tokens. */
    limitsOf(project: string): PlanLimits {
      const { name, retention_days, requests_per_minute } = planOf(project)
      const isNamed = settings.planParameter !== undefined && name !== defaultPlan
      return {
        retentionDays: retention_days ?? undefined,
        requestsPerMinute: requests_per_minute ?? undefined,
        parameters: isNamed ? { [settings.planParameter as string]: name } : {},
      }
    },
  }
}
