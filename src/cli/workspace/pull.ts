import { rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import writeFileAtomic from 'write-file-atomic'
import { makeDirectory } from '../../core/base/files/data-directory.ts'
import { closestName, didYouMean } from '../../core/base/text/closest-name.ts'
import { withUsed } from '../../workspace/check-workspace.ts'
import { type ProjectsFile, projectsFileName } from '../../workspace/projects-file.ts'
import { type DefinitionFile, readWorkspace, type Workspace } from '../../workspace/workspace.ts'
import { addServiceAction, addServiceOptions } from '../kit/command.ts'
import { CommandFailure, type CommandIo, usageFailure } from '../kit/command-io.ts'
import { apiPath, type ServiceClient } from '../kit/service-client.ts'
import { addValuesOptions, valuesFiles } from './files.ts'
import { definitionsByKey, fetchDefinitions, keyOf, type ServiceDefinition } from './plan.ts'
import { pulledPlans } from './project-plans.ts'
import { seenVersions } from './seen-versions.ts'

export function definePull(pull: Command, io: CommandIo): void {
  addValuesOptions(addServiceOptions(pull))
    .argument(
      '[name]',
      'name of what to write, with what it uses (default: all that is not shipped unchanged with the service)',
    )
    .option('--all', 'also endpoints that are shipped with the service, except wellhead.*')
    .option('--force', 'replace files that differ from the service')
    .option('--directory <directory>', 'workspace directory', '.')
  addServiceAction(pull, io, {
    examples: ['wellhead pull', 'wellhead pull usage.api-counts', 'wellhead pull --all --force'],
    request: async (client, name: string | undefined, options: PullOptions) => {
      if (name !== undefined && options.all) throw usageFailure('Use either a name or --all.')
      return { files: await pullFiles(name, client, options) }
    },
    print: async ({ files }, _name, { all }) => {
      for (const { file, action } of files) await io.stdout.write(`${action} ${file}\n`)
      if (files.length > 0) return
      const advice = all ? '' : ' Use --all for what is shipped with the service.'
      await io.stderr.write(`Nothing to pull.${advice}\n`)
    },
  })
}

interface PullOptions {
  all?: true
  force?: true
  directory: string
}

async function pullFiles(
  name: string | undefined,
  client: ServiceClient,
  options: PullOptions,
): Promise<Pick<PulledFile, 'file' | 'action'>[]> {
  const directory = resolve(client.io.cwd, options.directory)
  const seen = await seenVersions(directory, client)
  const all = await fetchDefinitions(client)
  const available = all.filter(({ kind, fields }) => !kind.file.isReserved(fields.name))
  const chosen =
    name === undefined
      ? available.filter(({ isShipped }) => options.all || !isShipped)
      : findByName(name, available)
  const workspace = readWorkspace(directory, valuesFiles(directory, client.io, options))
  const { definitions, files, projects } = workspace
  // Shipped or not, so that a check finds it.
  const pulled = withUsed(chosen, available)
  const rows = await rowsPlan(definitions, files, pulled, client)
  const plans = name === undefined ? await plansPlan(projects, files, client) : []
  const plan = [...pullPlan(workspace, pulled), ...rows, ...plans]
  const lost = new Set(plan.flatMap(({ loses }) => loses))
  if (lost.size > 0 && !options.force) {
    throw new CommandFailure(
      `${[...lost].join(', ')} would be replaced; nothing was written. Compare with "wellhead diff", or use --force to replace.`,
    )
  }
  makeDirectory(join(directory, 'endpoints'))
  for (const { file, action, content } of plan) {
    makeDirectory(dirname(join(directory, file)))
    if (action !== 'unchanged') writeFileAtomic.sync(join(directory, file), content)
    lost.delete(file)
  }
  for (const file of lost) rmSync(join(directory, file))
  const versions = pulled.map((one) => ({ ...one, name: one.fields.name, by: one.updatedBy.id }))
  await seen.write(versions, 'stay')
  return plan.map(({ file, action }) => ({ file, action }))
}

/** What has the name or id. */
function findByName(name: string, available: readonly ServiceDefinition[]): ServiceDefinition[] {
  const named = available.filter(({ id, fields }) => fields.name === name || id === name)
  if (named.length > 0) return named
  const names = available.map(({ fields }) => fields.name)
  const closest = didYouMean(closestName(name, names))
  throw new CommandFailure(`The service has nothing with the name "${name}" for a workspace.${closest}`)
}

interface PulledFile {
  file: string
  content: string
  action: 'written' | 'replaced' | 'unchanged'
  /** Files whose content is lost: this file, and a file with another name that has the same definition. */
  loses: string[]
}

function pulledFile(file: string, content: string, loses: Iterable<string>): PulledFile {
  const lost = [...new Set(loses)]
  return { file, content, action: lost.length > 0 ? 'replaced' : 'written', loses: lost }
}

function unchanged(file: string): PulledFile {
  return { file, content: '', action: 'unchanged', loses: [] }
}

/** The files that match what a service has. An equivalent file keeps its content. */
export function pullPlan(
  { definitions, files: existing, write }: Pick<Workspace, 'definitions' | 'files' | 'write'>,
  pulled: readonly ServiceDefinition[],
): PulledFile[] {
  const byKey = definitionsByKey(definitions)
  return pulled.map((definition) => {
    const { kind, fields } = definition
    const before = byKey.get(keyOf(definition))
    const isSameName = before?.fields.name === fields.name
    const file = isSameName ? before.file : `${kind.folder}/${fields.name}${kind.file.suffix}`
    const content = write(definition)
    if (isSameName && write(before) === content) return unchanged(file)
    return pulledFile(
      file,
      content,
      [before?.file ?? file, file].filter((one) => existing.has(one)),
    )
  })
}

/** The rows of tables, unless the files have them. */
async function rowsPlan(
  local: readonly DefinitionFile[],
  existing: ReadonlySet<string>,
  pulled: readonly ServiceDefinition[],
  client: ServiceClient,
): Promise<PulledFile[]> {
  const byKey = definitionsByKey(local)
  const plan: PulledFile[] = []
  for (const definition of pulled) {
    const { kind, fields, rows } = definition
    if (!rows?.count) continue
    const file = `${kind.folder}/${fields.name}.csv`
    if (rows.digest !== null && byKey.get(keyOf(definition))?.rows?.digest === rows.digest) {
      plan.push(unchanged(file))
      continue
    }
    const path = apiPath(kind.folder, fields.name, 'rows')
    const response = await client.request('GET', path, { query: { _format: 'csv' } })
    const content = (await client.read(response)).toString()
    plan.push(pulledFile(file, content, existing.has(file) ? [file] : []))
  }
  return plan
}

/** The plans of projects. A file with the same plans keeps its content. */
async function plansPlan(
  local: ProjectsFile | undefined,
  existing: ReadonlySet<string>,
  client: ServiceClient,
): Promise<PulledFile[]> {
  const pulled = await pulledPlans(client, local)
  if (!pulled) return []
  if (pulled.isSame) return [unchanged(projectsFileName)]
  return [
    pulledFile(projectsFileName, pulled.content, existing.has(projectsFileName) ? [projectsFileName] : []),
  ]
}
