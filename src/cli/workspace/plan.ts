import { createTwoFilesPatch } from 'diff'
import { z } from 'zod'
import type { FileWarning } from '../../core/base/files/file-problem.ts'
import { OperatorError } from '../../core/base/operator-error.ts'
import { firstProblem } from '../../core/base/validation.ts'
import { shippedBy } from '../../core/definitions/definitions.ts'
import type { DefinitionChange, DefinitionFields, FileRows, KindForm } from '../../core/definitions/kind.ts'
import type { DeployedDefinition } from '../../core/definitions/step.ts'
import { allKinds } from '../../kinds.ts'
import { type ByKind, byKind, problemOf, warningsOf } from '../../workspace/check-workspace.ts'
import type { DefinitionFile, Workspace, WriteFile } from '../../workspace/workspace.ts'
import { CommandFailure, type CommandIo } from '../kit/command-io.ts'
import { plural, visible } from '../kit/output/format.ts'
import { apiPath, type ServiceClient, ServiceFailure } from '../kit/service-client.ts'
import { refuseProblems } from './files.ts'
import { comparePlans, type PlanAssignment } from './project-plans.ts'
import { type NewerVersion, type SeenVersions, seenVersions } from './seen-versions.ts'

export interface ServiceDefinition {
  kind: KindForm
  fields: DefinitionFields
  id: string
  version: number
  /** The author of this version, and when it was made. The name of some is unknown. */
  updatedBy: { id: string; name: string | null; at: string }
  /** Whether the service created it, and nobody changed it since. */
  isShipped: boolean
  /** Of its rows, if it has any. Null: unknown. */
  rows?: { count: number; digest: string | null }
}

export async function fetchDefinitions(client: ServiceClient): Promise<ServiceDefinition[]> {
  const all = allKinds().map(async (kind) => {
    const views = await client.json<object[]>('GET', apiPath(kind.folder))
    return views.map((view) => readServiceDefinition(kind, view))
  })
  return (await Promise.all(all)).flat()
}

/** A definition of a response, without the fields that only the service sets. */
export function readServiceDefinition(kind: KindForm, view: object): ServiceDefinition {
  const { id, name, version, updated_by, updated_by_name, updated_at, ...own } = view as Record<
    'id' | 'name' | 'updated_by' | 'updated_at',
    string
  > & { version: number; updated_by_name: string | null; rows: number; digest: string | null }
  const updatedBy = { id: updated_by, name: updated_by_name, at: updated_at }
  try {
    return {
      kind,
      fields: kind.file.fieldsOf(view),
      id,
      version,
      updatedBy,
      isShipped: updated_by === shippedBy,
      ...(kind.file.rowsExtension && { rows: { count: own.rows, digest: own.digest } }),
    }
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error
    const { field, message } = firstProblem(error)
    throw new OperatorError(
      `Cannot read ${kind.folder}/${name} of the service: ${field} ${message}. ` +
        'Use the same version of Wellhead for the command and the service.',
    )
  }
}

type Keyed = Pick<ServiceDefinition, 'kind' | 'fields'>

export function keyOf({ kind, fields }: Keyed): string {
  return `${kind.folder}/${fields.id ?? fields.name}`
}

export function definitionsByKey<T extends Keyed>(definitions: readonly T[]): Map<string, T> {
  return new Map(definitions.map((each) => [keyOf(each), each]))
}

/** As lists show it. */
export function titleOf({ kind, fields }: Keyed): string {
  return `${kind.file.label}${fields.name}`
}

/** A file, compared with the definition of the service that has the same id, or the same name if files have no ids. */
interface ComparedFile extends DefinitionFile {
  current: ServiceDefinition | undefined
  /** Empty if both are equal. */
  diff: string
  /** Those that the service lacks. */
  newRows?: FileRows | undefined
}

interface Comparison {
  files: ComparedFile[]
  onlyOnService: ServiceDefinition[]
}

export function compareWithService(
  { definitions, write }: Pick<Workspace, 'definitions' | 'write'>,
  service: readonly ServiceDefinition[],
): Comparison {
  const byKey = definitionsByKey(service)
  const keys = new Set(definitions.map(keyOf))
  return {
    files: definitions.map((definition) => {
      const current = byKey.get(keyOf(definition))
      const { rows } = definition
      if (!rows) return { ...definition, current, diff: diffOf(definition, current, write) }
      const isStored = rows.digest === current?.rows?.digest
      // The service tells the same from them.
      const told = isStored ? rows.told.map((field) => [field, current.fields[field]]) : []
      const file = { ...definition, fields: { ...definition.fields, ...Object.fromEntries(told) } }
      return { ...file, current, diff: diffOf(file, current, write), newRows: isStored ? undefined : rows }
    }),
    onlyOnService: service.filter(
      (each) => !each.kind.file.isReserved(each.fields.name) && !keys.has(keyOf(each)),
    ),
  }
}

/** Both sides are written the same way, so that only meaningful differences show. */
function diffOf(
  definition: DefinitionFile,
  current: ServiceDefinition | undefined,
  write: WriteFile,
): string {
  const [before, after] = [current ? write(current) : '', write(definition)]
  if (current && before === after) return ''
  const from = current ? `service/${current.fields.name} (version ${current.version})` : 'not on the service'
  return createTwoFilesPatch(from, definition.file, before, after, '', '', { context: 3 }).replace(
    /^=====.*\n/gm,
    '',
  )
}

/**
 * What a deployment deletes because no file has it. A workspace without files of a kind does not manage that kind. A file with
 * the same name and another id must not replace it: the service refuses its name.
 */
export function prunedOf({ files, onlyOnService }: Comparison): ServiceDefinition[] {
  return onlyOnService.filter(({ kind, isShipped, fields }) => {
    const own = files.filter((file) => file.kind === kind)
    return (
      kind.file.prunes &&
      !isShipped &&
      own.length > 0 &&
      own.every(({ fields: { name } }) => name !== fields.name)
    )
  })
}

interface PlannedDefinition extends Omit<DeployedDefinition, 'warnings'> {
  kind: KindForm
  /** Undefined if it is deleted. */
  file?: string
  server_version: number
  /** What the deployment would overwrite although the workspace has not seen it. */
  elsewhere?: NewerVersion | undefined
  diff: string
  warnings: FileWarning[]
}

export interface Plan extends Comparison {
  pruned: ServiceDefinition[]
  planned: PlannedDefinition[]
  /** Plans of projects that differ from those of the workspace. */
  assignments: PlanAssignment[]
  seen: SeenVersions
}

export async function planFor(
  workspace: Workspace,
  client: ServiceClient,
  { prune, json }: { prune?: true; json?: true | undefined },
): Promise<Plan> {
  const { definitions, directory, projects } = workspace
  const seen = await seenVersions(directory, client)
  const onService = await fetchDefinitions(client)
  const comparison = compareWithService(workspace, onService)
  const { files } = comparison
  const { assignments, problems } = await comparePlans(projects, definitions, onService, client)
  await refuseProblems(problems, json, client.io)
  const pruned = prune ? prunedOf(comparison) : []
  const deployed = await sendDeployment(client, { files, pruned }, { dry_run: true }).catch(async (error) => {
    const { error: found } = error instanceof ServiceFailure ? error.details : {}
    // After a conflict of versions, the service is to blame and not the file.
    const problem = found && found.code !== 'version_conflict' ? problemOf(files, found) : undefined
    await refuseProblems(problem ? [problem] : [], json, client.io)
    throw error
  })
  const planned = allKinds().flatMap((kind: KindForm) => {
    const own = deployed[kind.folder] ?? []
    return own.map((one): PlannedDefinition => {
      const file = files.find((each) => each.kind === kind && each.fields.name === one.name)
      const current = file ? file.current : pruned.find(({ id }) => id === one.id)
      const elsewhere = current && one.action !== 'unchanged' ? seen.newer(current) : undefined
      const shared = { kind, ...one, elsewhere }
      if (!file) return { ...shared, server_version: one.version, diff: '', warnings: [] }
      const server_version = file.current?.version ?? 0
      return {
        ...(file.newRows ? withNewRows(shared, file.newRows) : shared),
        file: file.file,
        server_version,
        diff: file.diff,
        warnings: warningsOf(file, own),
      }
    })
  })
  return { ...comparison, pruned, planned, assignments, seen }
}

/** Rows are no part of a deployment, but are sent after it. */
function withNewRows<Planned extends DeployedDefinition>(planned: Planned, { count }: FileRows): Planned {
  const change = { kind: 'rows_replaced', breaking: false, message: `${plural(count, 'row')} to send` }
  const action = planned.action === 'unchanged' ? 'updated' : planned.action
  return { ...planned, action, changes: [...planned.changes, change] }
}

/** Why rows cannot be sent: they would bring erased projects back. Tables that the service lacks are checked when their rows are sent. */
export async function refusedRows(client: ServiceClient, { files }: Pick<Plan, 'files'>): Promise<string[]> {
  const refusals: string[] = []
  for (const { kind, newRows, current } of files) {
    if (!newRows || !current) continue
    const body = newRows.content as Buffer<ArrayBuffer>
    const request = { body, query: { dry_run: 'true' }, headers: { 'Content-Type': 'text/csv' } }
    const path = apiPath(kind.folder, String(current.fields.name), 'rows')
    await client.request('PUT', path, request).catch((error) => {
      const code = error instanceof ServiceFailure ? error.details.code : undefined
      if (code !== 'breaking_change') throw error
      refusals.push(`${newRows.file}: ${String(error.message)}`)
    })
  }
  return refusals
}

/** Those that differ, one table after the other. Says what is missing if one fails. */
export async function sendRows(
  client: ServiceClient,
  { files }: Pick<Plan, 'files'>,
  restoreErased: boolean,
): Promise<void> {
  const left = files.filter(({ newRows }) => newRows !== undefined)
  for (const [at, { kind, fields, newRows }] of left.entries()) {
    const body = newRows?.content as Buffer<ArrayBuffer>
    const query = restoreErased ? { restore_erased: 'true' } : {}
    const request = { body, query, headers: { 'Content-Type': 'text/csv' } }
    await client.request('PUT', apiPath(kind.folder, fields.name, 'rows'), request).catch((error: Error) => {
      const missing = left.slice(at).map(({ newRows }) => newRows?.file)
      const message = `The definitions were deployed, but not ${missing.join(', ')}; deploy again. ${error.message}`
      throw new CommandFailure(message, undefined, { cause: error })
    })
  }
}

type Deployed = ByKind<DeployedDefinition & { secrets?: { url: string; secret: string }[] }>

/** Each file replaces the version that it was compared with. */
export function sendDeployment(
  client: ServiceClient,
  { files, pruned }: Pick<Plan, 'files' | 'pruned'>,
  terms: { dry_run?: boolean; allow_breaking?: boolean; note?: string | undefined },
): Promise<Deployed> {
  const json = {
    ...byKind(files, ({ fields, current }) => ({ ...fields, expected_version: current?.version ?? 0 })),
    delete: byKind(pruned, ({ fields }) => fields.name),
    ...terms,
  }
  return client.json<Deployed>('POST', '/api/deployments', { json })
}

/** Removing a column of a source breaks nothing, but makes queries slower. */
export function effectOf({ breaking, kind }: DefinitionChange): 'breaking' | 'warning' | 'compatible' {
  return breaking ? 'breaking' : kind === 'column_removed' ? 'warning' : 'compatible'
}

export function planText(planned: PlannedDefinition, { stdout: { colors } }: CommandIo): string {
  const { kind, name, action, version, server_version, elsewhere, changes } = planned
  const colorOf = { breaking: colors.red, warning: colors.yellow, compatible: String }
  const versions =
    action === 'updated' && version !== server_version
      ? `version ${server_version} → ${version}`
      : `version ${version}`
  const made = elsewhere && `version ${elsewhere.version} by ${elsewhere.by} at ${elsewhere.at}`
  const newer = made ? [`  ${colors.red('elsewhere')}   ${visible(made)}\n`] : []
  const lines = changes.map((change) => {
    const effect = effectOf(change)
    return `  ${colorOf[effect](effect)}${' '.repeat(12 - effect.length)}${visible(change.message)}\n`
  })
  return `${action} ${kind.file.label}${name} (${versions})\n${[...newer, ...lines].join('')}`
}

/** Such as `updated project acme: plan free → pro`. */
export function assignmentText(
  { project, from, to, fewer_days }: PlanAssignment,
  { stdout }: CommandIo,
): string {
  const effect = fewer_days
    ? `\n  ${stdout.colors.yellow('warning')}     ${to} shows fewer days; hiding entries requires --breaking`
    : ''
  return `updated project ${visible(`${project}: plan ${from} → ${to}`)}${effect}\n`
}

export function planJson({ planned, assignments }: Plan) {
  return { ...byKind(planned, ({ kind: _, ...one }) => one), projects: assignments }
}
