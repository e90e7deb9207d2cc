import type { Command } from 'commander'
import { addExamples, addServiceAction, addServiceCommand, wholeNumber } from '../../cli/kit/command.ts'
import { type CommandIo, usageFailure } from '../../cli/kit/command-io.ts'
import { printFields, printList } from '../../cli/kit/output/print.ts'
import { apiPath, type ServiceClient, ServiceFailure } from '../../cli/kit/service-client.ts'
import type { Plan } from './plan.ts'
import type { projectView, UsageRow } from './project-report.ts'

type ShownProject = (typeof projectView)['_output']

interface ProjectDetails extends ShownProject {
  /** Null: the plan does not exist, so that nothing is limited. */
  limits: Omit<Plan, 'name'> | null
  /** Used on the current UTC day. */
  today: { entries: number; bytes: number; requests: number }
}

const limitNames = ['retention_days', 'requests_per_minute', 'entries_per_day', 'bytes_per_day'] as const

export function defineProject(project: Command, io: CommandIo): void {
  addExamples(project, 'wellhead project list', 'wellhead project plan acme pro')

  const list = addServiceCommand(project, 'list', 'list projects with their plans, most entries first')
    .option('--search <text>', 'only projects whose name contains this text')
    .option('--limit <count>', 'maximum number of projects', wholeNumber(1, 10_000))
  addServiceAction(list, io, {
    examples: ['wellhead project list', 'wellhead project list --search acme'],
    request: (client, { search, limit }: { search?: string; limit?: number }) => {
      const query = { ...(search !== undefined && { search }), ...(limit && { limit: String(limit) }) }
      return client.json<ShownProject[]>('GET', '/api/projects', { query })
    },
    print: (projects) =>
      printList(io, ['project', 'plan', 'entries', 'bytes', 'last_entry_at'], projects, 'No projects.'),
  })

  const show = addServiceCommand(
    project,
    'show',
    'show a project, the limits of its plan, and what it used today',
  ).argument('<project>', 'name of the project')
  addServiceAction(show, io, {
    examples: ['wellhead project show acme'],
    request: detailsOf,
    print: ({ limits, today, ...shown }) => {
      const limited = limitNames.map((name) => [name, limits?.[name] ?? 'no limit'] as const)
      const used = Object.entries(today).map(([name, value]) => [`${name}_today`, value] as const)
      return printFields(io.stdout, [...Object.entries(shown), ...limited, ...used])
    },
  })

  const plan = addServiceCommand(project, 'plan', 'set the plan of a project')
    .argument('<project>', 'name of the project')
    .argument('<plan>', 'name of the plan, or default')
    .option('--breaking', 'set it although entries of the project would no longer be visible')
  addServiceAction(plan, io, {
    examples: ['wellhead project plan acme pro', 'wellhead project plan acme free --breaking'],
    request: (client, name: string, wanted: string, { breaking }: { breaking?: true }) =>
      assignPlan(client, name, wanted, breaking === true),
    print: async (assigned) => io.stdout.write(`${assigned.project} has the plan ${assigned.plan}.\n`),
  })

  const usage = addServiceCommand(project, 'usage', 'show what a project used each day')
    .argument('<project>', 'name of the project')
    .option('--from <day>', 'first UTC day, such as 2026-11-01 (default: 30 days ago)')
    .option('--to <day>', 'last UTC day (default: today)')
  addServiceAction(usage, io, {
    examples: [
      'wellhead project usage acme',
      'wellhead project usage acme --from 2026-11-01 --to 2026-11-30',
    ],
    request: (client, name: string, { from, to }: { from?: string; to?: string }) => {
      const query = { project: name, ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
      return client.json<UsageRow[]>('GET', '/api/project-usage', { query })
    },
    print: (days) =>
      printList(
        io,
        ['day', 'entries', 'bytes', 'requests', 'cache_hits'],
        days,
        'Nothing was sent or requested.',
      ),
  })
}

/** The service refuses a plan that hides entries unless `breaking` is true. */
export function assignPlan(client: ServiceClient, project: string, plan: string, breaking: boolean) {
  if (project === '') throw usageFailure('The name of the project must not be empty.')
  const query: Record<string, string> = breaking ? { breaking: 'true' } : {}
  return client.json<ShownProject>('PUT', apiPath('projects', project), { json: { plan }, query })
}

async function detailsOf(client: ServiceClient, name: string): Promise<ProjectDetails> {
  const project = await client.json<ShownProject>('GET', apiPath('projects', name))
  const today = new Date(client.io.clock.now()).toISOString().slice(0, 10)
  const query = { project: name, from: today, to: today }
  const [days, limits] = await Promise.all([
    client.json<UsageRow[]>('GET', '/api/project-usage', { query }),
    client.json<Plan>('GET', apiPath('plans', project.plan)).catch((error) => {
      // Every project can have the plan default, which need not exist.
      if (error instanceof ServiceFailure && error.details.status === 404) return null
      throw error
    }),
  ])
  const { entries = 0, bytes = 0, requests = 0 } = days[0] ?? {}
  const fields = limitNames.map((field) => [field, limits?.[field] ?? null] as const)
  return {
    ...project,
    limits: limits && (Object.fromEntries(fields) as unknown as Omit<Plan, 'name'>),
    today: { entries, bytes, requests },
  }
}
