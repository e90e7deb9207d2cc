import type { FastifyInstance } from 'fastify'
import type { PlanLimits } from '../../core/access/caller.ts'
import type { Core } from '../../core.ts'
import { audit as auditFeature } from '../audit/index.ts'
import { sources as sourcesFeature } from '../sources/index.ts'
import { planDetails } from './caller-details.ts'
import { addProjectMeters } from './meters.ts'
import { defaultPlan, readPlan } from './plan.ts'
import { assignmentChange } from './plan-effects.ts'
import { plans as planKind } from './plan-kind.ts'
import { ProjectPlans } from './project-plans.ts'
import { ProjectReport } from './project-report.ts'
import { ProjectUsage } from './project-usage.ts'
import { Quotas } from './quotas.ts'
import { startRetentionSweep } from './retention-sweep.ts'
import { addProjectRoutes } from './routes.ts'
import { planSettings } from './settings.ts'
import { UsageJournal } from './usage-journal.ts'

export type OpenPlans = Awaited<ReturnType<typeof openPlans>>

export async function openPlans(core: Core) {
  const { options, engine, time, log, shared, settings, catalog, sources, access, topology, hooks } = core
  const { planParameter } = core.settingsOf(planSettings)
  const { audit } = core.feature(auditFeature)
  const { hiddenEntries } = core.feature(sourcesFeature)
  const definitions = core.items(planKind, readPlan)
  const find = (name: string) => definitions.named(name)?.definition
  const plans = new ProjectPlans({ engine, time, log, shared, find })
  const planOf = plans.of.bind(plans)
  const usage = new ProjectUsage({
    ...{ engine, log, shared, planOf },
    time: options.usageClock ? { ...time, wall: options.usageClock } : time,
    journal: new UsageJournal(settings.dataDir),
  })
  const quotas = new Quotas({ usage, planOf })
  const report = new ProjectReport({ engine, clock: time.wall, usage, planNamed: plans.named.bind(plans) })
  let sweep: ReturnType<typeof startRetentionSweep> | undefined

  addProjectMeters(core.meters, usage)
  hooks.projectLimits.push((project): PlanLimits => {
    const { name, retention_days, requests_per_minute } = planOf(project)
    return {
      retentionDays: retention_days ?? undefined,
      requestsPerMinute: requests_per_minute ?? undefined,
      parameters: planParameter === undefined || name === defaultPlan ? {} : { [planParameter]: name },
    }
  })
  hooks.admit = (...lines) => quotas.admit(...lines)
  hooks.pending = quotas.pending
  hooks.flushCounts.push(() => usage.flush())
  hooks.callRecorded.push((record) => usage.called(record))
  hooks.callerDetails.push(planDetails(plans))
  definitions.follow(() => plans.changed())
  // Tokens have the limits of the plans of their projects, and streams end that were begun with others.
  plans.follow(() => access.plansChanged())
  const kindParts = { plans: definitions, projectPlans: plans, hiddenEntries, sources, engine }
  return {
    kinds: [{ ...planKind, ...planKind.open(kindParts) }],
    routes: (server: FastifyInstance) =>
      addProjectRoutes(server, {
        audit,
        projects: {
          plans,
          report,
          assignmentChange: (project, plan) =>
            assignmentChange({ hiddenEntries, sources, plans }, project, plan),
        },
      }),
    async load() {
      if (hooks.storeNotices) usage.storeReports(hooks.storeNotices)
      await usage.open()
      await plans.open()
      sweep = startRetentionSweep({
        ...{ engine, time, log, topology },
        plans: () => catalog.log.history(planKind.name),
        sources: () => sources.list(),
        deleteAfterMs: settings.deleteAfter,
      })
    },
    async stop() {
      await plans.stop()
      await sweep?.stop()
      await usage.stop()
    },
  }
}
