import type { Command } from 'commander'
import type { NewSource } from '../../catalog/source.ts'
import {
  type Comparison,
  compareWithServer,
  deploymentOf,
  nameConflicts,
  type PlannedEndpoint,
  planOf,
} from '../../workspace/deployment-plan.ts'
import type { Workspace } from '../../workspace/workspace.ts'
import { type ChangedSource, sourceChanges } from '../../workspace/workspace-sources.ts'
import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { plural } from '../output/format-amount.ts'
import { printJson } from '../output/print.ts'
import { visible } from '../output/visible.ts'
import { type ServiceClient, ServiceFailure } from '../service-client.ts'
import { addServiceAction, addServiceCommand } from '../service-command.ts'
import { deploymentResponse, sourceList, sourceResponse } from '../service-responses.ts'
import { fetchEndpoints } from './pull-command.ts'
import { openWorkspace, printProblems } from './workspace-commands.ts'

interface DeployOptions {
  dryRun?: true
  breaking?: true
  json?: true
}

export function addDeployCommands(program: Command, io: CommandIo): void {
  const description = 'compare the files with a service and show which changes break callers'
  const diff = addServiceCommand(program, 'diff', description)
    .argument('[directory]', 'workspace directory', '.')
    .option('--exit-code', 'exit with 1 if anything differs')
    .option('--json', 'print JSON')
  addServiceAction(diff, io, {
    examples: ['wellhead diff', 'wellhead diff --url https://wellhead.example.com'],
    request: async (client, directory: string, { exitCode, json }: { exitCode?: true; json?: true }) => {
      const plan = await planFor(await openChecked(directory, json, io), client)
      const { endpoints, missing, changed, comparison } = plan
      if (json) {
        await printJson(io, {
          endpoints,
          missing_sources: missing.map(({ name }) => name),
          sources: changed,
          only_on_server: comparison.onlyOnServer,
        })
      } else await printDiff(plan, io)
      const sources = missing.length + changed.length
      const differs = sources > 0 || endpoints.some(({ action }) => action !== 'unchanged')
      if (exitCode && differs) throw new CommandFailure('')
    },
  })

  const deploy = addServiceCommand(program, 'deploy', 'update a service atomically to match the files')
    .argument('[directory]', 'workspace directory', '.')
    .option('--dry-run', 'show what would be deployed')
    .option('--breaking', 'deploy changes that break callers')
    .option('--json', 'print JSON')
  addServiceAction(deploy, io, {
    examples: ['wellhead deploy --dry-run', 'wellhead deploy', 'wellhead deploy --breaking'],
    request: async (client, directory: string, options: DeployOptions) => {
      const workspace = await openChecked(directory, options.json, io)
      const created: string[] = []
      try {
        // Endpoints need their sources first.
        const missing = options.dryRun ? [] : missingSources(workspace, await sourcesOf(workspace, client))
        for (const source of missing) {
          await client.json('POST', '/api/sources', sourceResponse, { json: source })
          created.push(source.name)
          if (!options.json) await io.stdout.write(`created source ${source.name}\n`)
        }
        await deployWorkspace(await planFor(workspace, client), created, client, options, io)
      } catch (error) {
        for (const name of created) {
          // The failure of the deployment matters more than a failure to clean up.
          await client.request('DELETE', pathOf(name), { query: { confirm: name } }).then(
            () => io.stderr.write(`removed source ${name} again\n`),
            () => io.stderr.write(`could not remove the new source ${name}\n`),
          )
        }
        throw error
      }
    },
  })
}

interface Plan {
  comparison: Comparison
  endpoints: PlannedEndpoint[]
  missing: NewSource[]
  changed: ChangedSource[]
}

/** Reads a workspace whose endpoints and sources have no problems. */
async function openChecked(directory: string, json: true | undefined, io: CommandIo): Promise<Workspace> {
  const workspace = openWorkspace(directory, io)
  const problems = workspace.problems.filter(({ file }) => /^(endpoints|sources)\//.test(file))
  if (problems.length === 0) return workspace
  await (json ? printJson(io, { problems }) : printProblems(problems, io))
  throw new CommandFailure(`${plural(problems.length, 'problem')} found; nothing was deployed.`)
}

async function planFor(workspace: Workspace, client: ServiceClient): Promise<Plan> {
  const server = await fetchEndpoints(client)
  const comparison = compareWithServer(workspace, server)
  const conflicts = nameConflicts(comparison, server)
  if (conflicts.length > 0) {
    throw new CommandFailure(
      `${conflicts.join('\n')}\nUse that id in the file to update the endpoint, or choose another name.`,
    )
  }
  const current = await sourcesOf(workspace, client)
  const missing = missingSources(workspace, current)
  const files = workspace.sources.map(({ source }) => source)
  const json = { endpoints: deploymentOf(comparison), dry_run: true }
  const deployment = await client
    .json('POST', '/api/deployments', deploymentResponse, { json })
    .catch((error: unknown) => {
      // An endpoint that reads a missing source cannot be checked before the source exists.
      const isUncheckable = error instanceof ServiceFailure && error.code === 'invalid_query'
      if (!isUncheckable || missing.length === 0) throw error
      const names = missing.map(({ name }) => name).join(', ')
      throw new CommandFailure(
        `Cannot compare the endpoints before "wellhead deploy" creates the source ${names}: ${error.message}`,
      )
    })
  const endpoints = planOf(comparison, deployment.endpoints)
  return { comparison, endpoints, missing, changed: sourceChanges(files, current) }
}

async function sourcesOf({ sources }: Workspace, client: ServiceClient): Promise<NewSource[]> {
  return sources.length === 0 ? [] : client.json('GET', '/api/sources', sourceList)
}

function missingSources({ sources }: Workspace, current: readonly NewSource[]): NewSource[] {
  const names = new Set(current.map(({ name }) => name))
  return sources.map(({ source }) => source).filter(({ name }) => !names.has(name))
}

async function deployWorkspace(
  { comparison, endpoints: plan, changed }: Plan,
  created: readonly string[],
  client: ServiceClient,
  options: DeployOptions,
  io: CommandIo,
): Promise<void> {
  const losing = changed.filter(({ loses }) => loses).length
  const breaking = plan.flatMap(({ changes }) => changes).filter((change) => change.breaking).length + losing
  const isRefused = breaking > 0 && !options.breaking
  const isDeployed = !options.dryRun && !isRefused
  if (isDeployed) {
    if (plan.some(({ action }) => action !== 'unchanged')) {
      const json = { endpoints: deploymentOf(comparison), allow_breaking: options.breaking === true }
      await client.json('POST', '/api/deployments', deploymentResponse, { json })
    }
    for (const { name, fields } of changed) {
      await client.json('PATCH', pathOf(name), sourceResponse, { json: fields })
    }
  }
  if (options.json) {
    const endpoints = plan.map(({ diff: _, ...shown }) => shown)
    const made_sources = isRefused ? [] : created
    await printJson(io, { deployed: isDeployed, made_sources, sources: changed, endpoints })
  } else {
    for (const endpoint of plan) await io.stdout.write(planText(endpoint, io))
    for (const { message } of changed) await io.stdout.write(`updated ${visible(message)}\n`)
  }
  if (isRefused) {
    const effect = losing > 0 ? 'break callers or delete entries' : 'break callers'
    const outcome = options.dryRun ? 'the deployment would fail' : 'nothing was deployed'
    throw new CommandFailure(
      `${plural(breaking, 'change')} would ${effect}; ${outcome}. Use --breaking to deploy anyway.`,
    )
  }
  if (options.json) return
  const counts = (['created', 'updated', 'unchanged'] as const).map(
    (action) => `${plan.filter((endpoint) => endpoint.action === action).length} ${action}`,
  )
  const title = isDeployed ? 'Deployed' : 'Would deploy'
  await io.stdout.write(`${title} to ${client.url}: ${counts.join(', ')}.\n`)
}

function planText({ name, action, version, server_version, changes }: PlannedEndpoint, io: CommandIo) {
  const { colors } = io.stdout
  const versions = action === 'updated' ? `version ${server_version} → ${version}` : `version ${version}`
  const lines = changes.map(({ breaking, message }) =>
    breaking ? `  ${colors.red('breaking')}    ${visible(message)}` : `  compatible  ${visible(message)}`,
  )
  return [`${action} ${name} (${versions})`, ...lines].map((line) => `${line}\n`).join('')
}

async function printDiff({ endpoints, comparison: { onlyOnServer }, missing, changed }: Plan, io: CommandIo) {
  const { colors } = io.stdout
  const changes = endpoints.filter(({ action }) => action !== 'unchanged')
  for (const endpoint of changes) {
    const diff = endpoint.diff.split('\n').map((line) => {
      if (/^(---|\+\+\+)/.test(line)) return colors.bold(visible(line))
      if (line.startsWith('-')) return colors.red(visible(line))
      return line.startsWith('+') ? colors.green(visible(line)) : visible(line)
    })
    await io.stdout.write(`${planText(endpoint, io)}${diff.join('\n').trimEnd()}\n\n`)
  }
  for (const { name } of missing) await io.stdout.write(`not on the service: source ${name}\n`)
  for (const { message } of changed) await io.stdout.write(`differs: ${visible(message)}\n`)
  if (onlyOnServer.length > 0) await io.stdout.write(`only on the service: ${onlyOnServer.join(', ')}\n`)
  const unchanged = endpoints.length - changes.length
  await io.stdout.write(`${plural(changes.length, 'endpoint')} to deploy, ${unchanged} unchanged.\n`)
}

function pathOf(source: string): string {
  return `/api/sources/${encodeURIComponent(source)}`
}
