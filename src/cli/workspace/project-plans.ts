import { Document } from 'yaml'
import type { FileProblem } from '../../core/base/files/file-problem.ts'
import { closestName, didYouMean } from '../../core/base/text/closest-name.ts'
import { assignPlan } from '../../features/plans/commands.ts'
import { type ProjectsFile, projectsFileName } from '../../workspace/projects-file.ts'
import { CommandFailure } from '../kit/command-io.ts'
import { type ServiceClient, ServiceFailure } from '../kit/service-client.ts'

export interface PlanAssignment {
  project: string
  /** The plan that the service has assigned. */
  from: string
  to: string
  /** Whether the project's tenants see fewer days. The service refuses it if that hides entries. */
  fewer_days: boolean
}

const defaultPlan = 'default'
/** What a page of the list of projects has at most. */
const pageSize = 10_000

interface PlanFields {
  kind: { name: string }
  fields: { name: string; retention_days?: unknown }
}

/** Plans of projects that differ from those of the file. Unknown plans are problems of the file. */
export async function comparePlans(
  file: ProjectsFile | undefined,
  workspacePlans: readonly PlanFields[],
  servicePlans: readonly PlanFields[],
  client: ServiceClient,
): Promise<{ assignments: PlanAssignment[]; problems: FileProblem[] }> {
  if (!file || file.plans.size === 0) return { assignments: [], problems: [] }
  const before = retentionByPlan(servicePlans)
  const after = new Map([...before, ...retentionByPlan(workspacePlans)])
  const problems = [...file.plans].flatMap(([project, plan]) => {
    if (plan === defaultPlan || after.has(plan)) return []
    const message = `${project}: No plan has the name "${plan}".${didYouMean(closestName(plan, [...after.keys()]))} Create plans/${plan}.yaml, or use default.`
    return [{ file: projectsFileName, ...file.positionOf(project), message }]
  })
  const current = await assignedPlans(client)
  const days = (plans: ReadonlyMap<string, number>, plan: string) =>
    plans.get(plan) ?? plans.get(defaultPlan) ?? Number.POSITIVE_INFINITY
  const assignments = [...file.plans].flatMap(([project, to]) => {
    const from = current.get(project) ?? defaultPlan
    return from === to ? [] : [{ project, from, to, fewer_days: days(after, to) < days(before, from) }]
  })
  return { assignments, problems }
}

function retentionByPlan(plans: readonly PlanFields[]): Map<string, number> {
  return new Map(
    plans
      .filter(({ kind }) => kind.name === 'plan')
      .map(({ fields: { name, retention_days: days } }) => [
        name,
        typeof days === 'number' ? days : Number.POSITIVE_INFINITY,
      ]),
  )
}

/** The plans of all projects that have another one than the default. */
async function assignedPlans(client: ServiceClient): Promise<Map<string, string>> {
  const plans = new Map<string, string>()
  for (let after: string | undefined; ; ) {
    const query = { sort: 'project', limit: String(pageSize), ...(after !== undefined && { after }) }
    const page = await client.json<{ project: string; plan: string }[]>('GET', '/api/projects', { query })
    for (const { project, plan } of page) if (plan !== defaultPlan) plans.set(project, plan)
    after = page.at(-1)?.project
    if (page.length < pageSize) return plans
  }
}

/** Each is a request of its own. One that fails leaves those before it assigned, and the next deployment continues. */
export async function assignPlans(
  client: ServiceClient,
  assignments: readonly PlanAssignment[],
  breaking: boolean,
): Promise<void> {
  for (const [at, { project, to }] of assignments.entries()) {
    await assignPlan(client, project, to, breaking).catch((error: Error) => {
      const left = assignments.length - at
      const isBreaking = error instanceof ServiceFailure && error.details.code === 'breaking_change'
      const advice = isBreaking ? 'Deploy again with --breaking to assign them anyway.' : 'Deploy again.'
      const message = `The definitions were deployed, but ${at} of ${assignments.length} plans were assigned; ${left === 1 ? 'that' : 'those'} of ${namesOf(assignments.slice(at))} ${left === 1 ? 'was' : 'were'} not. ${advice} ${error.message}`
      throw new CommandFailure(message, undefined, { cause: error })
    })
  }
}

const maxNamed = 5

function namesOf(assignments: readonly PlanAssignment[]): string {
  const names = assignments.slice(0, maxNamed).map(({ project }) => project)
  const more = assignments.length - names.length
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Throws before anything is deployed if the token may not assign plans. */
export async function refuseWithoutAdmin(client: ServiceClient): Promise<void> {
  const { admin } = await client.json<{ admin: boolean }>('GET', '/api/whoami')
  if (admin) return
  throw new CommandFailure(
    `Assigning the plans of ${projectsFileName} requires a token with the scope admin; nothing was deployed.`,
  )
}

/** The text of the file, and whether an existing file has other plans. Undefined if no project has a plan. */
export async function pulledPlans(client: ServiceClient, local: ProjectsFile | undefined) {
  const plans = await assignedPlans(client)
  if (plans.size === 0) return undefined
  const localPlans = [...(local?.plans ?? [])].filter(([, plan]) => plan !== defaultPlan)
  const isSame =
    localPlans.length === plans.size && localPlans.every(([name, plan]) => plans.get(name) === plan)
  const content = new Document(plans).toString({ lineWidth: 0 })
  return { content, isSame }
}
