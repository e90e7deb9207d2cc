import { createTwoFilesPatch } from 'diff'
import { FixableProblem } from '../base/fixable-problem.ts'
import {
  definitionShape,
  type EndpointDefinition,
  fieldProblems,
  problemSentence,
  shippedBy,
  writableFields,
} from '../endpoints/definition/definition.ts'
import { formatDefinition } from '../endpoints/definition/definition-file.ts'
import type { ResultColumn } from '../endpoints/definition/result-columns.ts'
import { contractChanges } from '../endpoints/manage/contract-changes.ts'
import type { DeployedEndpoint } from '../endpoints/manage/deployments.ts'
import type { EndpointView } from '../endpoints/manage/endpoint-admin.ts'
import { createSources, problemOf, warningOf } from './check-workspace.ts'
import { type FileWarning, sortProblems } from './file-problem.ts'
import type { Workbench } from './workbench.ts'
import type { Workspace, WorkspaceEndpoint } from './workspace.ts'

export interface ServerEndpoint {
  definition: EndpointDefinition
  columns: readonly ResultColumn[]
  version: number
  /** Whether the service created it, and nobody changed it since. */
  isShipped: boolean
}

/** Reads the endpoints that the API returns, without the fields that only the service sets. */
export function readServerEndpoints(
  views: readonly Pick<EndpointView, 'name' | 'version' | 'columns'>[],
): ServerEndpoint[] {
  return views.map((view) => {
    const { version, columns, updated_by } = view as EndpointView
    const parsed = definitionShape.safeParse(writableFields(view))
    if (parsed.success) {
      return { definition: parsed.data, columns, version, isShipped: updated_by === shippedBy }
    }
    const [problem] = fieldProblems(parsed.error)
    const sentence = problemSentence(problem?.path.join('.') ?? '', problem?.message ?? 'is invalid')
    throw new FixableProblem(
      `Cannot read the endpoint ${view.name} of the service: ${sentence} ` +
        'Use the same version of Wellhead for the command and the service.',
    )
  })
}

/** A file, compared with the endpoint of the service that has the same id. */
export interface ComparedEndpoint extends WorkspaceEndpoint {
  current: ServerEndpoint | undefined
  /** Empty if both are equal. */
  diff: string
}

export interface Comparison {
  endpoints: ComparedEndpoint[]
  onlyOnServer: ServerEndpoint[]
}

export function compareWithServer(
  { endpoints }: Pick<Workspace, 'endpoints'>,
  server: readonly ServerEndpoint[],
): Comparison {
  const byId = new Map(server.map((endpoint) => [endpoint.definition.id, endpoint]))
  const ids = new Set(endpoints.map(({ definition }) => definition.id))
  return {
    endpoints: endpoints.map((endpoint) => {
      const current = byId.get(endpoint.definition.id)
      const before = current && { ...current, ...current.definition, ...endpointFile(current) }
      const diff = diffOf(endpointFile(endpoint), before)
      return { ...endpoint, current, diff }
    }),
    onlyOnServer: server.filter(({ definition }) => !ids.has(definition.id)),
  }
}

/** Files whose endpoint name belongs to another id on the service: deploying them fails. */
export function nameConflicts({ endpoints, onlyOnServer }: Comparison): string[] {
  return endpoints.flatMap(({ file, definition: { name } }) => {
    const other = onlyOnServer.find(({ definition }) => definition.name === name)
    return other ? [`${file}: on the service, ${name} has the id ${other.definition.id}.`] : []
  })
}

/** What a deployment changes. Both sides are formatted the same way, so that only meaningful differences show. */
export function diffOf(
  { file, content }: FileContent,
  current: { name: string; version: number; content: string } | undefined,
): string {
  if (current?.content === content) return ''
  const from = current ? `service/${current.name} (version ${current.version})` : 'not on the service'
  const patch = createTwoFilesPatch(from, file, current?.content ?? '', content, '', '', { context: 3 })
  return patch.replace(/^=====.*\n/gm, '')
}

/** Plans endpoints whose sources the service does not have yet. */
export async function planOnBench(
  workspace: Workspace,
  endpoints: readonly ComparedEndpoint[],
  bench: Workbench,
) {
  const problems = await createSources(workspace, bench)
  const planned: DeployedEndpoint[] = []
  for (const endpoint of problems.length === 0 ? endpoints : []) {
    const { definition, current, diff } = endpoint
    const found = await bench.check(definition)
    if ('error' in found) problems.push(problemOf(endpoint, found.error))
    else if (!current) planned.push(found)
    else {
      const action = diff === '' ? 'unchanged' : 'updated'
      const changes = contractChanges(current, { definition, columns: found.columns })
      planned.push({ ...found, action, version: current.version + (diff === '' ? 0 : 1), changes })
    }
  }
  return { problems, planned }
}

/** The body of a deployment: each file replaces the version that it was compared with. */
export function deploymentOf(endpoints: readonly ComparedEndpoint[]) {
  return endpoints.map(({ definition, current }) => ({
    ...definition,
    expected_version: current?.version ?? 0,
  }))
}

export interface PlannedEndpoint extends Omit<DeployedEndpoint, 'warnings'> {
  file: string
  server_version: number
  diff: string
  warnings: FileWarning[]
}

export function planOf({ endpoints }: Comparison, deployed: readonly DeployedEndpoint[]): PlannedEndpoint[] {
  const byId = new Map(deployed.map((endpoint) => [endpoint.id, endpoint]))
  return endpoints.flatMap((endpoint) => {
    const { file, definition, current, diff } = endpoint
    const planned = byId.get(definition.id)
    if (!planned) return []
    const warnings = sortProblems(planned.warnings.map((warning) => warningOf(endpoint, warning)))
    return [{ file, server_version: current?.version ?? 0, ...planned, warnings, diff }]
  })
}

/** What a file of an endpoint or alert contains. */
export interface FileContent {
  id: string
  file: string
  /** Formatted the same way, so that equivalent files are equal. */
  content: string
}

export function endpointFile({
  definition,
  file = `endpoints/${definition.name}.sql`,
}: Pick<ServerEndpoint, 'definition'> & { file?: string }): FileContent {
  return { id: definition.id, file, content: formatDefinition(definition) }
}

interface PulledFile extends FileContent {
  action: 'written' | 'replaced' | 'unchanged'
  /** Files whose content is lost: this file, and a file with another name that has the same endpoint. */
  loses: string[]
}

/** The files that match what a service has. An equivalent file keeps its content. */
export function pullPlan(
  local: readonly FileContent[],
  /** All existing files, including unreadable ones. */
  files: ReadonlySet<string>,
  server: readonly FileContent[],
): PulledFile[] {
  const byId = new Map(local.map((each) => [each.id, each]))
  return server.map((pulled): PulledFile => {
    const { id, file, content } = pulled
    const before = byId.get(id)
    if (before?.file === file && before.content === content) {
      return { ...pulled, action: 'unchanged', loses: [] }
    }
    const loses = new Set([...(before ? [before.file] : []), ...(files.has(file) ? [file] : [])])
    return { ...pulled, action: loses.size > 0 ? 'replaced' : 'written', loses: [...loses] }
  })
}
