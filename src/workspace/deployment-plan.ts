import { createTwoFilesPatch } from 'diff'
import type { AlertFields } from '../alerts/alert.ts'
import {
  definitionShape,
  type EndpointDefinition,
  fieldProblems,
  problemSentence,
  shippedBy,
} from '../endpoints/definition/definition.ts'
import { formatDefinition } from '../endpoints/definition/definition-file.ts'
import type { DeployedEndpoint } from '../endpoints/manage/deployments.ts'
import { formatAlert, type WorkspaceAlert } from './alert-file.ts'
import { warningOf } from './check-workspace.ts'
import { type FileWarning, sortProblems } from './file-problem.ts'
import type { Workspace, WorkspaceEndpoint } from './workspace.ts'

export interface ServerEndpoint {
  definition: EndpointDefinition
  version: number
  /** Whether the service created it, and nobody changed it since. */
  isShipped: boolean
}

/** An endpoint of a service with another version that no file can represent. */
export class UnreadableEndpoint extends Error {}

/** Reads the endpoints that the API returns, without the fields that only the service sets. */
export function readServerEndpoints(
  views: readonly { name: string; version: number; [field: string]: unknown }[],
): ServerEndpoint[] {
  return views.map((view) => {
    const { version, columns: _, created_at: _at, updated_at: _on, updated_by, note: _note, ...fields } = view
    const parsed = definitionShape.safeParse(fields)
    if (parsed.success) return { definition: parsed.data, version, isShipped: updated_by === shippedBy }
    const [problem] = fieldProblems(parsed.error)
    const sentence = problemSentence(problem?.path.join('.') ?? '', problem?.message ?? 'is invalid')
    throw new UnreadableEndpoint(
      `Cannot read the endpoint ${view.name} of the service: ${sentence} ` +
        'Use the same version of Wellhead for the command and the service.',
    )
  })
}

/** A file, compared with the endpoint of the service that has the same id. */
interface ComparedEndpoint extends WorkspaceEndpoint {
  /** 0 if the service has no such endpoint. */
  serverVersion: number
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
      const diff = diffOf(endpoint.file, endpoint.definition, current)
      return { ...endpoint, serverVersion: current?.version ?? 0, diff }
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

/** Formats both sides the same way, so that only meaningful differences show. */
function diffOf(file: string, definition: EndpointDefinition, current: ServerEndpoint | undefined): string {
  const before = current ? formatDefinition(current.definition) : ''
  const after = formatDefinition(definition)
  if (before === after) return ''
  return patchOf(file, after, current && { name: current.definition.name, version: current.version, before })
}

function patchOf(
  file: string,
  after: string,
  current: { name: string; version: number; before: string } | undefined,
): string {
  const from = current ? `service/${current.name} (version ${current.version})` : 'not on the service'
  const patch = createTwoFilesPatch(from, file, current?.before ?? '', after, '', '', { context: 3 })
  return patch.replace(/^=====.*\n/gm, '')
}

export interface ServerAlert {
  fields: AlertFields
  version: number
}

/** An alert file, compared with the alert of the service that has the same name. */
export interface ComparedAlert extends WorkspaceAlert {
  /** 0 if the service has no such alert. */
  serverVersion: number
  /** Empty if both are equal. */
  diff: string
}

export function compareAlerts(
  alerts: readonly WorkspaceAlert[],
  server: readonly ServerAlert[],
): ComparedAlert[] {
  return alerts.map((alert) => {
    const { name } = alert.fields
    const current = server.find(({ fields }) => fields.name === name)
    const after = formatAlert(alert.fields)
    const before = current && formatAlert(current.fields)
    const diff =
      before === after
        ? ''
        : patchOf(alert.file, after, current && { name, version: current.version, before: before ?? '' })
    return { ...alert, serverVersion: current?.version ?? 0, diff }
  })
}

/** Alerts of a deployment: each file replaces the version that it was compared with. */
export function deployedAlerts(alerts: readonly ComparedAlert[]) {
  return alerts.map(({ fields: { muted_until: _, ...fields }, serverVersion: expected_version }) => ({
    ...fields,
    expected_version,
  }))
}

/** The body of a deployment: each file replaces the version that it was compared with. */
export function deploymentOf({ endpoints }: Comparison) {
  return endpoints.map(({ definition, serverVersion: expected_version }) => ({
    ...definition,
    expected_version,
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
    const { file, definition, serverVersion, diff } = endpoint
    const planned = byId.get(definition.id)
    if (!planned) return []
    const warnings = sortProblems(planned.warnings.map((warning) => warningOf(endpoint, warning)))
    return [{ file, server_version: serverVersion, ...planned, warnings, diff }]
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
