import { createTwoFilesPatch } from 'diff'
import {
  definitionShape,
  type EndpointDefinition,
  fieldProblems,
  problemSentence,
} from '../endpoints/definition/definition.ts'
import { formatDefinition } from '../endpoints/definition/definition-file.ts'
import type { ContractChange } from '../endpoints/manage/contract-changes.ts'
import type { DeployedEndpoint } from '../endpoints/manage/deployments.ts'
import type { Project, ProjectEndpoint } from './workspace.ts'

/** An endpoint as a service has it. */
export interface ServerEndpoint {
  definition: EndpointDefinition
  version: number
}

/** As it is shown, with fields that only the service sets. */
export interface ServerView {
  name: string
  version: number
  [field: string]: unknown
}

/** An endpoint that a service of another version has, and that no file here could hold. */
export class UnreadableEndpoint extends Error {}

/** What a service shows of its endpoints, without what only it can set. */
export function readServerEndpoints(views: readonly ServerView[]): ServerEndpoint[] {
  return views.map((view) => {
    const { version, columns: _, created_at: _at, updated_at: _on, updated_by: _by, ...fields } = view
    const parsed = definitionShape.safeParse(fields)
    if (parsed.success) return { definition: parsed.data, version }
    const [problem] = fieldProblems(parsed.error)
    const sentence = problemSentence(problem?.path.join('.') ?? '', problem?.message ?? 'is invalid')
    throw new UnreadableEndpoint(
      `The endpoint ${view.name} of the service cannot be read: ${sentence} ` +
        'Use the same version of Wellhead for the command and the service.',
    )
  })
}

/** One file beside the endpoint of a service that has its id. */
export interface ComparedEndpoint {
  file: string
  definition: EndpointDefinition
  /** Of the endpoint on the service; 0 where there is none. */
  serverVersion: number
  /** The texts side by side; empty where they are the same. */
  diff: string
}

export interface Comparison {
  endpoints: ComparedEndpoint[]
  /** Names of endpoints that only the service has. */
  onlyOnServer: string[]
}

export function compareWithServer(
  { endpoints }: Pick<Project, 'endpoints'>,
  server: readonly ServerEndpoint[],
): Comparison {
  const byId = new Map(server.map((endpoint) => [endpoint.definition.id, endpoint]))
  const ids = new Set(endpoints.map(({ definition }) => definition.id))
  return {
    endpoints: endpoints.map(({ file, definition }) => {
      const there = byId.get(definition.id)
      return {
        file,
        definition,
        serverVersion: there?.version ?? 0,
        diff: diffOf(file, definition, there),
      }
    }),
    onlyOnServer: server.flatMap(({ definition }) => (ids.has(definition.id) ? [] : [definition.name])),
  }
}

/** Files whose name is that of an endpoint with another id: a deployment of them cannot succeed. */
export function strangersIn({ endpoints }: Comparison, server: readonly ServerEndpoint[]): string[] {
  const ids = new Set(endpoints.map(({ definition }) => definition.id))
  const others = new Map(
    server.flatMap(({ definition }) => (ids.has(definition.id) ? [] : [[definition.name, definition.id]])),
  )
  return endpoints.flatMap(({ file, definition }) => {
    const id = others.get(definition.name)
    return id === undefined ? [] : [`${file}: the service has ${definition.name} with the id ${id}.`]
  })
}

/** Both in the same form, so that only what means something differs. */
function diffOf(file: string, definition: EndpointDefinition, there: ServerEndpoint | undefined): string {
  const before = there ? formatDefinition(there.definition) : ''
  const after = formatDefinition(definition)
  if (before === after) return ''
  const from = there ? `server/${there.definition.name} (version ${there.version})` : 'not on the server'
  const patch = createTwoFilesPatch(from, file, before, after, '', '', { context: 3 })
  return patch
    .split('\n')
    .filter((line) => !line.startsWith('====='))
    .join('\n')
}

/** What is sent to the service: the files, each for the version that it was compared with. */
export function deploymentOf({ endpoints }: Comparison) {
  return endpoints.map(({ definition, serverVersion }) => ({
    ...definition,
    expected_version: serverVersion,
  }))
}

export interface PlannedEndpoint extends DeployedEndpoint {
  file: string
  server_version: number
  diff: string
}

export function planOf({ endpoints }: Comparison, deployed: readonly DeployedEndpoint[]): PlannedEndpoint[] {
  const byId = new Map(deployed.map((endpoint) => [endpoint.id, endpoint]))
  return endpoints.flatMap(({ file, definition, serverVersion, diff }) => {
    const planned = byId.get(definition.id)
    return planned ? [{ file, server_version: serverVersion, ...planned, diff }] : []
  })
}

export function breakingIn(plan: readonly PlannedEndpoint[]): ContractChange[] {
  return plan.flatMap(({ changes }) => changes.filter(({ breaking }) => breaking))
}

export interface PulledFile {
  file: string
  action: 'written' | 'replaced' | 'unchanged'
  content: string
  /** Files whose content is lost: the one itself, and one of another name that was the same endpoint. */
  loses: string[]
}

/** What the files would be if they were what the service has. A file that means the same stays as it is. */
export function pullPlan(
  local: readonly ProjectEndpoint[],
  /** Every file there is, also those that cannot be read. */
  files: ReadonlySet<string>,
  server: readonly ServerEndpoint[],
): PulledFile[] {
  const byId = new Map(local.map((endpoint) => [endpoint.definition.id, endpoint]))
  return server.map(({ definition }): PulledFile => {
    const file = `endpoints/${definition.name}.sql`
    const content = formatDefinition(definition)
    const before = byId.get(definition.id)
    if (before && before.file === file && formatDefinition(before.definition) === content) {
      return { file, action: 'unchanged', content: before.content, loses: [] }
    }
    const loses = new Set([...(before ? [before.file] : []), ...(files.has(file) ? [file] : [])])
    return { file, action: loses.size > 0 ? 'replaced' : 'written', content, loses: [...loses] }
  })
}
