import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type Caller, readableProject } from '../../core/access/caller.ts'
import {
  type BreakingChange,
  breakingChange,
  forbidden,
  notAcceptable,
  resourceNotFound,
} from '../../core/base/errors.ts'
import { readShape } from '../../core/base/validation.ts'
import { authorOf, flag } from '../../core/http/routes/management.ts'
import { json, jsonBody, routesOf } from '../../core/http/routes/route.ts'
import type { Audit } from '../audit/index.ts'
import type { ProjectPlans } from './project-plans.ts'
import {
  type ProjectReport,
  projectsQuery,
  projectView,
  type UsageRow,
  usageQuery,
  usageRow,
  usageRowOfAdmins,
} from './project-report.ts'

interface ProjectRouteParts {
  projects: {
    plans: ProjectPlans
    report: ProjectReport
    assignmentChange: (project: string, plan: string) => Promise<BreakingChange | undefined>
  }
  audit: Pick<Audit, 'write'>
}

const assignment = z.strictObject({
  plan: z.string('must be the name of a plan').max(128).describe('Name of the plan, or `default`.'),
})

/** Names in the OpenAPI document. */
const components = {
  input: { ProjectPlan: assignment },
  output: { Project: projectView, ProjectUsage: usageRowOfAdmins },
}

const params = z.object({
  project: z.string().meta({ description: 'Name of the project.', example: 'demo' }),
})
const csvType = 'text/csv'

const unusedProject = { entries: 0, bytes: 0, last_entry_at: null }

export function addProjectRoutes(server: FastifyInstance, { projects, audit }: ProjectRouteParts): void {
  server.components.add(components)
  const route = routesOf(server, { tag: 'Projects', access: 'admin' })
  const find = async (project: string) => {
    const terms = projectsQuery.parse({ limit: 1 })
    const [found] = await projects.report.list({ ...terms, project })
    return found
  }
  route('GET /api/projects', 'listProjects', 'List projects', {
    access: 'read',
    description: 'Projects that have a plan, or that were active in the last 30 days.',
    query: projectsQuery,
    responses: { 200: json('The projects.', z.array(projectView)) },
    errors: [400, 504],
    handler: ({ query }) => projects.report.list(query),
  })
  route('GET /api/projects/:project', 'getProject', 'Show a project', {
    access: 'query or search',
    description: 'A token with a project sees its own project; others require the scope `read`.',
    params,
    responses: { 200: json('The project.', projectView) },
    errors: [504],
    handler: async ({ params, caller }) => {
      const { project } = params
      const isOwn = caller?.project === project
      if (!isOwn && caller?.role === undefined) {
        throw forbidden('This requires a token with this project, or with the scope read.')
      }
      const found = await find(project)
      if (found) return found
      // To its own tokens, a project exists before its first entry.
      if (isOwn) return { ...unusedProject, project, plan: projects.plans.of(project).name }
      throw resourceNotFound(`No project "${project}" has a plan, or was active lately`)
    },
  })
  route('PUT /api/projects/:project', 'assignPlan', 'Set the plan of a project', {
    description:
      'Holds at once, and within 2 seconds on every service. A plan that hides entries is refused unless `breaking` is true.',
    params,
    query: z.object({ breaking: flag('Whether to hide entries, which are deleted later.') }),
    body: jsonBody(assignment, { plan: 'PRO' }),
    responses: { 200: json('The project.', projectView) },
    errors: [400, 409],
    handler: async (request) => {
      const { project } = request.params
      const { plan } = readShape(assignment, request.body)
      projects.plans.check(project, plan)
      const change = request.query.breaking ? undefined : await projects.assignmentChange(project, plan)
      if (change)
        throw breakingChange([change], 'nothing was changed. Set breaking=true to change it anyway.')
      await audit.write('project.update', project, authorOf(request), `plan ${plan}`)
      await projects.plans.assign(project, plan)
      return find(project)
    },
  })
  addUsageRoute(server, projects)
}

function addUsageRoute(server: FastifyInstance, projects: ProjectRouteParts['projects']): void {
  const route = routesOf(server, { tag: 'Projects', access: 'query or search' })
  route('GET /api/project-usage', 'getProjectUsage', 'Show what projects used each day', {
    description:
      'A row per project and UTC day, by project and day. Days without entries and requests have none. A day that is over ' +
      'does not change. A token with a project sees its own project; others require the scope `read`.',
    query: usageQuery.extend({
      _format: z.enum(['json', 'csv'], 'must be json or csv').optional().describe('Default: by Accept.'),
    }),
    responses: {
      200: {
        description: 'The rows.',
        headers: ['Wellhead-Truncated'],
        content: {
          'application/json': { schema: z.array(usageRowOfAdmins) },
          [csvType]: { schema: { type: 'string' } },
        },
      },
    },
    errors: [400, 406, 504],
    handler: async (request, reply) => {
      const caller = request.caller as Caller
      const { _format, ...terms } = request.query
      if (caller.project === undefined && caller.role === undefined) {
        throw forbidden('This requires a token with a project, or with the scope read.')
      }
      const project = readableProject(caller, terms.project)
      const format = _format ?? acceptedFormat(request)
      const { limit } = terms
      const found = await projects.report.days({
        ...terms,
        limit: limit + 1,
        ...(project !== undefined && { project }),
      })
      if (found.length > limit) reply.header('Wellhead-Truncated', 'true')
      const rows = found.slice(0, limit).map((row) => (caller.isAdmin ? row : usageRow.parse(row)))
      if (format === 'json') return rows
      reply.type(`${csvType}; charset=utf-8`)
      return csvOf(rows, Object.keys((caller.isAdmin ? usageRowOfAdmins : usageRow).shape))
    },
  })
}

function acceptedFormat({ headers: { accept = '' } }: FastifyRequest): 'json' | 'csv' {
  if (accept.includes(csvType)) return 'csv'
  if (accept === '' || /\*\/\*|application\/(?:json|\*)/.test(accept)) return 'json'
  throw notAcceptable(['application/json', csvType])
}

function csvOf(rows: readonly UsageRow[], columns: readonly string[]): string {
  const cell = (value: unknown) =>
    typeof value === 'string' ? `"${value.replaceAll('"', '""')}"` : String(value)
  const lines = rows.map((row) => columns.map((column) => cell(row[column as keyof UsageRow])))
  return [columns.map(cell), ...lines].map((cells) => `${cells.join(',')}\r\n`).join('')
}
