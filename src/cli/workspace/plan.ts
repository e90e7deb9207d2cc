import type { DefinitionChange } from '../../definitions/kind.ts'
import type { DeployedDefinition } from '../../definitions/step.ts'
import { type ByKind, byKind, problemOf, warningsOf } from '../../workspace/check-workspace.ts'
import {
  type Comparison,
  compareWithService,
  prunedOf,
  readServiceDefinition,
  type ServiceDefinition,
} from '../../workspace/comparison.ts'
import type { FileWarning } from '../../workspace/file-problem.ts'
import { fileKinds } from '../../workspace/kinds/file-kinds.ts'
import type { Workspace } from '../../workspace/workspace.ts'
import type { CommandIo } from '../command-io.ts'
import { visible } from '../output/format.ts'
import { apiPath, type ServiceClient, ServiceFailure } from '../service-client.ts'
import { refuseProblems } from './files.ts'

export interface PlannedDefinition extends Omit<DeployedDefinition, 'warnings'> {
  /** Undefined if it is deleted. */
  file?: string
  server_version: number
  diff: string
  warnings: FileWarning[]
}

export interface Plan extends Comparison {
  pruned: ServiceDefinition[]
  planned: ByKind<PlannedDefinition>
  all: PlannedDefinition[]
}

export async function fetchDefinitions(client: ServiceClient): Promise<ServiceDefinition[]> {
  const all = fileKinds.map(async (kind) => {
    const views = await client.json<object[]>('GET', apiPath(kind.folder))
    return views.map((view) => readServiceDefinition(kind, view))
  })
  return (await Promise.all(all)).flat()
}

export async function planFor(
  { definitions }: Workspace,
  client: ServiceClient,
  { prune, json }: { prune?: true; json?: true },
  io: CommandIo,
): Promise<Plan> {
  const comparison = compareWithService(definitions, await fetchDefinitions(client))
  const { files } = comparison
  const pruned = prune ? prunedOf(comparison) : []
  const deployed = await sendDeployment(client, { files, pruned }, { dry_run: true }).catch(async (error) => {
    const { error: found } = error instanceof ServiceFailure ? error.details : {}
    // After a conflict of versions, the service is to blame and not the file.
    const problem = found && found.code !== 'version_conflict' ? problemOf(files, found) : undefined
    await refuseProblems(problem ? [problem] : [], json, io)
    throw error
  })
  const planned = fileKinds.map((kind) => {
    const own = deployed[kind.folder] ?? []
    const items = own.map(({ warnings: _, ...one }): PlannedDefinition => {
      const file = files.find((each) => each.kind === kind && each.fields.name === one.name)
      const server_version = (file ? file.current?.version : one.version) ?? 0
      const diff = file?.diff ?? ''
      return {
        ...(file && { file: file.file }),
        ...one,
        server_version,
        diff,
        warnings: file ? warningsOf(file, own) : [],
      }
    })
    return [kind.folder, items] as const
  })
  return {
    ...comparison,
    pruned,
    planned: Object.fromEntries(planned),
    all: planned.flatMap(([, items]) => items),
  }
}

type Deployed = ByKind<DeployedDefinition & { secrets?: { url: string; secret: string }[] }>

/** Each file replaces the version that it was compared with. */
export function sendDeployment(
  client: ServiceClient,
  { files, pruned }: Pick<Plan, 'files' | 'pruned'>,
  terms: { dry_run?: boolean; allow_breaking?: boolean; note?: string },
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

export function planTexts({ planned }: Plan, { stdout: { colors } }: CommandIo) {
  const colorOf = { breaking: colors.red, warning: colors.yellow, compatible: String }
  return fileKinds.flatMap(({ folder, label }) =>
    (planned[folder] ?? []).map((definition) => {
      const { name, action, version, server_version, changes } = definition
      const versions = action === 'updated' ? `version ${server_version} → ${version}` : `version ${version}`
      const lines = changes.map((change) => {
        const effect = effectOf(change)
        const padding = ' '.repeat(12 - effect.length)
        return `  ${colorOf[effect](effect)}${padding}${visible(change.message)}\n`
      })
      return { ...definition, text: `${action} ${label}${name} (${versions})\n${lines.join('')}` }
    }),
  )
}
