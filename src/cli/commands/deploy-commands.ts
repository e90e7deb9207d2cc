import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { z } from 'zod'
import { writeWhole } from '../../base/write-whole.ts'
import { isBuiltIn } from '../../catalog/built-in-sources.ts'
import type { NewSource } from '../../catalog/source.ts'
import {
  breakingIn,
  type Comparison,
  compareWithServer,
  deploymentOf,
  type PlannedEndpoint,
  planOf,
  pullPlan,
  readServerEndpoints,
  type ServerEndpoint,
  strangersIn,
  UnreadableEndpoint,
} from '../../workspace/deployment-plan.ts'
import { type ChangedSource, sourceChanges } from '../../workspace/source-changes.ts'
import { sourceFileOf } from '../../workspace/source-file.ts'
import { type Project, readEndpointFiles } from '../../workspace/workspace.ts'
import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import type { ServiceChoice } from '../find-service.ts'
import { addExamples } from '../help.ts'
import { printJson } from '../output/print.ts'
import { visible } from '../output/text-width.ts'
import { deploymentAnswer, endpointAnswer, sourceAnswer } from '../service-answers.ts'
import { addServiceOptions, connect, type ServiceClient, ServiceFailure } from '../service-client.ts'
import { counted, openProject, printProblems } from './workspace-commands.ts'

type Choice = ServiceChoice & { json?: true }

/** Endpoints as files beside what a service has. */
export function addDeployCommands(program: Command, io: CommandIo): void {
  const diff = addServiceOptions(
    program
      .command('diff')
      .description('show what differs between the files and a service, and what breaks callers'),
  )
  diff
    .argument('[directory]', 'directory of the project', '.')
    .option('--exit-code', 'end with 1 if anything differs')
    .option('--json', 'as JSON')
    .action(async (directory: string, options: Choice & { exitCode?: true }) => {
      const target = await openTarget(directory, options, io)
      const { plan, comparison, missing, changed } = await planFor(target)
      if (options.json) {
        const only_on_server = comparison.onlyOnServer
        await printJson(io, {
          endpoints: plan,
          missing_sources: missing.map(({ name }) => name),
          sources: changed,
          only_on_server,
        })
      } else await printDiff({ plan, comparison, missing, changed }, io)
      const differs = plan.some(({ action }) => action !== 'unchanged') || missing.length + changed.length > 0
      if (options.exitCode && differs) throw new CommandFailure('')
    })
  addExamples(diff, 'wellhead diff', 'wellhead diff --url https://wellhead.example.com')

  const deploy = addServiceOptions(
    program.command('deploy').description('bring a service to what the files say: all of them, or none'),
  )
  deploy
    .argument('[directory]', 'directory of the project', '.')
    .option('--dry-run', 'only tell what would be done')
    .option('--breaking', 'deploy also what breaks callers')
    .option('--json', 'as JSON')
    .action((directory: string, options: DeployOptions) => deployProject(directory, options, io))
  addExamples(deploy, 'wellhead deploy --dry-run', 'wellhead deploy', 'wellhead deploy --breaking')

  const pull = addServiceOptions(
    program.command('pull').description('write the endpoints of a service into files'),
  )
  pull
    .argument('[directory]', 'directory of the project', '.')
    .option('--force', 'replace files that are not as the service has them')
    .option('--json', 'as JSON')
    .action((directory: string, options: Choice & { force?: true }) => pullProject(directory, options, io))
  addExamples(pull, 'wellhead pull', 'wellhead pull --force')
}

/** Files, and the service that they are for. */
interface Target {
  project: Project
  client: ServiceClient
}

interface Plan {
  comparison: Comparison
  plan: PlannedEndpoint[]
  /** Sources of the project that the service does not have. */
  missing: NewSource[]
  changed: ChangedSource[]
}

/** Asks the service what the files would change, each for the version that it was compared with. */
async function planFor({ project, client }: Target): Promise<Plan> {
  const server = await endpointsOf(client)
  const comparison = compareWithServer(project, server)
  const strangers = strangersIn(comparison, server)
  if (strangers.length > 0) {
    throw new CommandFailure(
      `${strangers.join('\n')}\nPut the id of the service into the file to change that endpoint, or choose another name.`,
    )
  }
  const there = await sourcesOf(project, client)
  const missing = missingSources(project, there)
  const changed = sourceChanges(
    project.sources.map(({ source }) => source),
    there,
  )
  const trial = { endpoints: deploymentOf(comparison), dry_run: true }
  try {
    const { endpoints } = await client.json('POST', '/api/deployments', deploymentAnswer, { json: trial })
    return { comparison, plan: planOf(comparison, endpoints), missing, changed }
  } catch (error) {
    // What reads a source that is not there yet cannot be compared before it is.
    if (!(error instanceof ServiceFailure) || error.code !== 'invalid_query' || missing.length === 0)
      throw error
    const names = missing.map(({ name }) => name).join(', ')
    throw new CommandFailure(
      `The service has no source ${names}, which wellhead deploy makes; until then this cannot be told: ${error.message}`,
    )
  }
}

async function openTarget(directory: string, options: Choice, io: CommandIo): Promise<Target> {
  const project = openProject(directory, io)
  const problems = project.problems.filter(({ file }) => /^(endpoints|sources)\//.test(file))
  if (problems.length === 0) return { project, client: connect(options, io) }
  if (options.json) await printJson(io, { problems })
  else await printProblems(problems, io)
  throw new CommandFailure(`${counted(problems.length, 'problem')} found; nothing was deployed.`)
}

async function endpointsOf(client: ServiceClient): Promise<ServerEndpoint[]> {
  const views = await client.json('GET', '/api/endpoints', z.array(endpointAnswer))
  try {
    return readServerEndpoints(views)
  } catch (error) {
    throw error instanceof UnreadableEndpoint ? new CommandFailure(error.message) : error
  }
}

/** Not asked for where the project declares none. */
async function sourcesOf({ sources }: Project, client: ServiceClient): Promise<NewSource[]> {
  return sources.length === 0 ? [] : client.json('GET', '/api/sources', z.array(sourceAnswer))
}

function missingSources({ sources }: Project, there: readonly NewSource[]): NewSource[] {
  const names = new Set(there.map(({ name }) => name))
  return sources.map(({ source }) => source).filter(({ name }) => !names.has(name))
}

type DeployOptions = Choice & { dryRun?: true; breaking?: true }

async function deployProject(directory: string, options: DeployOptions, io: CommandIo): Promise<void> {
  const target = await openTarget(directory, options, io)
  const made: string[] = []
  try {
    if (!options.dryRun) await makeSources(target, made, options, io)
    await deployEndpoints(target, options, made, io)
  } catch (error) {
    await unmakeSources(target, made, io)
    throw error
  }
}

async function deployEndpoints(
  target: Target,
  options: DeployOptions,
  made: readonly string[],
  io: CommandIo,
): Promise<void> {
  const { client } = target
  const { comparison, plan, changed } = await planFor(target)
  const breaking = breakingIn(plan)
  const losing = changed.filter(({ loses }) => loses)
  const refused = breaking.length + losing.length > 0 && !options.breaking
  const idle = plan.every(({ action }) => action === 'unchanged')
  if (!options.dryRun && !refused && !idle) {
    await client.json('POST', '/api/deployments', deploymentAnswer, {
      json: { endpoints: deploymentOf(comparison), allow_breaking: options.breaking === true },
    })
  }
  const deployed = !options.dryRun && !refused
  if (deployed) {
    for (const { name, fields } of changed) {
      const path = `/api/sources/${encodeURIComponent(name)}`
      await client.json('PATCH', path, sourceAnswer, { json: fields })
    }
  }
  if (options.json) {
    const endpoints = plan.map(({ diff: _, ...shown }) => shown)
    await printJson(io, { deployed, made_sources: refused ? [] : made, sources: changed, endpoints })
  } else {
    for (const endpoint of plan) await io.stdout.write(planText(endpoint, io))
    for (const { message } of changed) await io.stdout.write(`changed ${visible(message)}\n`)
  }
  if (refused) {
    throw new CommandFailure(
      `${counted(breaking.length + losing.length, 'change')} would break ${losing.length > 0 ? 'callers or lose entries' : 'callers'}; ` +
        `${options.dryRun ? 'this would be refused' : 'nothing was deployed'}. --breaking does it all the same.`,
    )
  }
  if (options.json) return
  const counts = (['created', 'updated', 'unchanged'] as const)
    .map((action) => `${plan.filter((endpoint) => endpoint.action === action).length} ${action}`)
    .join(', ')
  await io.stdout.write(`${deployed ? 'Deployed' : 'Would deploy'} to ${client.url}: ${counts}.\n`)
}

/** Sources are made before endpoints can read them, and taken back if the rest fails. */
async function makeSources({ project, client }: Target, made: string[], options: Choice, io: CommandIo) {
  for (const source of missingSources(project, await sourcesOf(project, client))) {
    await client.json('POST', '/api/sources', sourceAnswer, { json: source })
    made.push(source.name)
    if (!options.json) await io.stdout.write(`made the source ${source.name}\n`)
  }
}

async function unmakeSources({ client }: Target, made: readonly string[], io: CommandIo): Promise<void> {
  for (const name of made) {
    const path = `/api/sources/${encodeURIComponent(name)}`
    // The reason of the failure matters more than one source too many, which is told.
    await client.request('DELETE', path, { query: { confirm: name } }).then(
      () => io.stderr.write(`took back the source ${name}\n`),
      () => io.stderr.write(`the source ${name} was made and is left\n`),
    )
  }
}

function planText(
  { name, action, version, server_version, changes }: PlannedEndpoint,
  io: CommandIo,
): string {
  const { colors } = io.stdout
  const versions = action === 'updated' ? `version ${server_version} → ${version}` : `version ${version}`
  const lines = changes.map(({ breaking, message }) =>
    breaking ? `  ${colors.red('breaking')}    ${visible(message)}` : `  compatible  ${visible(message)}`,
  )
  return [`${action} ${name} (${versions})`, ...lines].map((line) => `${line}\n`).join('')
}

async function printDiff(
  { plan, comparison: { onlyOnServer }, missing, changed }: Plan,
  io: CommandIo,
): Promise<void> {
  const { colors } = io.stdout
  for (const endpoint of plan) {
    if (endpoint.action === 'unchanged') continue
    const diff = endpoint.diff.split('\n').map((line) => {
      if (/^(---|\+\+\+)/.test(line)) return colors.bold(visible(line))
      if (line.startsWith('-')) return colors.red(visible(line))
      return line.startsWith('+') ? colors.green(visible(line)) : visible(line)
    })
    await io.stdout.write(`${planText(endpoint, io)}${diff.join('\n').trimEnd()}\n\n`)
  }
  for (const { name } of missing) await io.stdout.write(`not on the service: the source ${name}\n`)
  for (const { message } of changed) await io.stdout.write(`differs: ${visible(message)}\n`)
  if (onlyOnServer.length > 0) await io.stdout.write(`only on the service: ${onlyOnServer.join(', ')}\n`)
  const same = plan.filter(({ action }) => action === 'unchanged').length
  await io.stdout.write(`${counted(plan.length - same, 'endpoint')} to deploy, ${same} unchanged.\n`)
}

async function pullProject(given: string, options: Choice & { force?: true }, io: CommandIo): Promise<void> {
  const directory = resolve(io.cwd, given)
  const { endpoints, problems } = readEndpointFiles(directory)
  const client = connect(options, io)
  const server = await endpointsOf(client)
  const there = new Set([...endpoints, ...problems].map(({ file }) => file))
  const plan = pullPlan(endpoints, there, server)
  const lost = new Set(plan.flatMap(({ loses }) => loses))
  if (lost.size > 0 && !options.force) {
    throw new CommandFailure(
      `${[...lost].join(', ')} would be replaced; nothing was written. wellhead diff shows how they differ, ` +
        'and --force replaces them.',
    )
  }
  mkdirSync(join(directory, 'endpoints'), { recursive: true })
  for (const { file, action, content } of plan) {
    if (action !== 'unchanged') writeWhole(join(directory, file), content)
  }
  const written = new Set(plan.map(({ file }) => file))
  for (const file of lost) if (!written.has(file)) rmSync(join(directory, file))
  const sources = await pullSources(directory, client)
  const shown = [...plan.map(({ file, action }) => ({ file, action })), ...sources]
  if (options.json) return printJson(io, { files: shown })
  for (const { file, action } of shown) await io.stdout.write(`${action} ${file}\n`)
}

/** Files of sources that are not built in, so that the project can be checked by itself; those that are there stay. */
async function pullSources(directory: string, client: ServiceClient) {
  const there = await client.json('GET', '/api/sources', z.array(sourceAnswer))
  const files = there
    .filter(({ name }) => !isBuiltIn(name))
    .map(sourceFileOf)
    .filter(({ file }) => !existsSync(join(directory, file)))
  if (files.length > 0) mkdirSync(join(directory, 'sources'), { recursive: true })
  for (const { file, content } of files) writeWhole(join(directory, file), content)
  return files.map(({ file }) => ({ file, action: 'written' }))
}
