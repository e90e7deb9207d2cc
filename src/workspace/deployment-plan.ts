import { createTwoFilesPatch } from 'diff'
import {
  definitionShape,
  type EndpointDefinition,
  fieldProblems,
  problemSentence,
} from '../endpoints/definition/definition.ts'
import { formatDefinition } from '../endpoints/definition/definition-file.ts'
import type { DeployedEndpoint } from '../endpoints/manage/deployments.ts'
import type { Workspace, WorkspaceEndpoint } from './workspace.ts'

export interface ServerEndpoint {
  definition: EndpointDefinition
  version: number
}

/** An endpoint of a service with another version that no file can represent. */
export class UnreadableEndpoint extends Error {}

/** Reads the endpoints that the API returns, without the fields that only the service sets. */
export function readServerEndpoints(
  views: readonly { name: string; version: number; [field: string]: unknown }[],
): ServerEndpoint[] {
  return views.map((view) => {
    const { version, columns: _, created_at: _at, updated_at: _on, updated_by: _by, ...fields } = view
    const parsed = definitionShape.safeParse(fields)
    if (parsed.success) return { definition: parsed.data, version }
    const [problem] = fieldProblems(parsed.error)
    const sentence = problemSentence(problem?.path.join('.') ?? '', problem?.message ?? 'is invalid')
    throw new UnreadableEndpoint(
      `Cannot read the endpoint ${view.name} of the service: ${sentence} ` +
        'Use the same version of Wellhead for the command and the service.',
    )
  })
}

/** A file, compared with the endpoint of the service that has the same id. */
interface ComparedEndpoint {
  file: string
  definition: EndpointDefinition
  /** 0 if the service has no such endpoint. */
  serverVersion: number
  /** Empty if both are equal. */
  diff: string
}

export interface Comparison {
  endpoints: ComparedEndpoint[]
  onlyOnServer: string[]
}

export function compareWithServer(
  { endpoints }: Pick<Workspace, 'endpoints'>,
  server: readonly ServerEndpoint[],
): Comparison {
  const byId = new Map(server.map((endpoint) => [endpoint.definition.id, endpoint]))
  const ids = new Set(endpoints.map(({ definition }) => definition.id))
  return {
    endpoints: endpoints.map(({ file, definition }) => {
      const current = byId.get(definition.id)
      const diff = diffOf(file, definition, current)
      return { file, definition, serverVersion: current?.version ?? 0, diff }
    }),
    onlyOnServer: server.flatMap(({ definition }) => (ids.has(definition.id) ? [] : [definition.name])),
  }
}

/** Files whose endpoint name belongs to another id on the service: deploying them fails. */
export function nameConflicts({ endpoints }: Comparison, server: readonly ServerEndpoint[]): string[] {
  const ids = new Set(endpoints.map(({ definition }) => definition.id))
  const others = server.filter(({ definition }) => !ids.has(definition.id))
  return endpoints.flatMap(({ file, definition: { name } }) => {
    const other = others.find(({ definition }) => definition.name === name)
    return other ? [`${file}: on the service, ${name} has the id ${other.definition.id}.`] : []
  })
}

/** Formats both sides the same way, so that only meaningful differences show. */
function diffOf(file: string, definition: EndpointDefinition, current: ServerEndpoint | undefined): string {
  const before = current ? formatDefinition(current.definition) : ''
  const after = formatDefinition(definition)
  if (before === after) return ''
  const from = current
    ? `service/${current.definition.name} (version ${current.version})`
    : 'not on the service'
  const patch = createTwoFilesPatch(from, file, before, after, '', '', { context: 3 })
  return patch.replace(/^=====.*\n/gm, '')
}

/** The body of a deployment: each file replaces the version that it was compared with. */
export function deploymentOf({ endpoints }: Comparison) {
  return endpoints.map(({ definition, serverVersion: expected_version }) => ({
    ...definition,
    expected_version,
  }))
}

type Deployed = Omit<DeployedEndpoint, 'warnings'>

export interface PlannedEndpoint extends Deployed {
  file: string
  server_version: number
  diff: string
}

export function planOf({ endpoints }: Comparison, deployed: readonly Deployed[]): PlannedEndpoint[] {
  const byId = new Map(deployed.map((endpoint) => [endpoint.id, endpoint]))
  return endpoints.flatMap(({ file, definition, serverVersion, diff }) => {
    const planned = byId.get(definition.id)
    return planned ? [{ file, server_version: serverVersion, ...planned, diff }] : []
  })
}

interface PulledFile {
  file: string
  action: 'written' | 'replaced' | 'unchanged'
  content: string
  /** Files whose content is lost: this file, and a file with another name that has the same endpoint. */
  loses: string[]
}

/** The files that match the endpoints of a service. An equivalent file keeps its content. */
export function pullPlan(
  local: readonly WorkspaceEndpoint[],
  /** All existing files, including unreadable ones. */
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
