import { isReserved } from '../../endpoints/definition/definition.ts'
import type { DeploymentView } from '../../endpoints/manage/deployments.ts'
import { sqlName } from '../../sql/names.ts'
import {
  type ComparedEndpoint,
  type Comparison,
  compareWithServer,
  deploymentOf,
  nameConflicts,
  type PlannedEndpoint,
  planOf,
  planOnBench,
  type ServerEndpoint,
} from '../../workspace/deployment-plan.ts'
import type { Workspace } from '../../workspace/workspace.ts'
import {
  columnsInUse,
  needsSources,
  type PlannedSource,
  planSources,
} from '../../workspace/workspace-sources.ts'
import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { plural } from '../output/format-amount.ts'
import { printJson } from '../output/print.ts'
import { visible } from '../output/visible.ts'
import { objectWith, type ServiceClient } from '../service-client.ts'
import { openWorkspace, printFindings, problemsFound } from './findings.ts'
import { fetchEndpoints, fetchSources } from './service-state.ts'
import { withWorkbench } from './with-workbench.ts'

/** What a deployment changes on a service. */
export interface Plan {
  comparison: Comparison
  endpoints: PlannedEndpoint[]
  sources: PlannedSource[]
  pruned: ServerEndpoint[]
}

/** Reads a workspace whose endpoints and sources have no problems. */
export async function openChecked(
  directory: string,
  json: true | undefined,
  io: CommandIo,
): Promise<Workspace> {
  const workspace = openWorkspace(directory, io)
  const problems = workspace.problems.filter(({ file }) => /^(endpoints|sources)\//.test(file))
  if (problems.length === 0) return workspace
  await (json ? printJson(io, { problems }) : printFindings(problems, io))
  throw new CommandFailure(
    `${plural(problems.length, 'problem')} found. Run wellhead check to see all of them.`,
  )
}

export async function planFor(
  workspace: Workspace,
  client: ServiceClient,
  { prune, json }: { prune?: true; json?: true },
  io: CommandIo,
): Promise<Plan> {
  const comparison = compareWithServer(workspace, await fetchEndpoints(client))
  const conflicts = nameConflicts(comparison)
  if (conflicts.length > 0) {
    throw new CommandFailure(
      `${conflicts.join('\n')}\nUse that id in the file to update the endpoint, or choose another name.`,
    )
  }
  const { endpoints, onlyOnServer } = comparison
  const pruned = onlyOnServer.filter(
    ({ definition, isShipped }) => prune && !isReserved(definition.name) && !isShipped,
  )
  const kept = [...endpoints, ...onlyOnServer.filter((endpoint) => !pruned.includes(endpoint))]
  const current = workspace.sources.length === 0 ? [] : await fetchSources(client)
  const sources = await planSources(workspace.sources, current, (source, condition) =>
    countEntries(client, source, condition),
  )
  const inUse = columnsInUse(sources, kept)
  if (inUse.length > 0) throw new CommandFailure(inUse.join('\n'))
  const isWaiting = ({ definition }: ComparedEndpoint) => needsSources(definition.query, sources)
  const waiting = endpoints.filter(isWaiting)
  const checkable = { endpoints: deploymentOf(endpoints.filter((one) => !isWaiting(one))), dry_run: true }
  const read = objectWith<DeploymentView>('endpoints')
  const onService = await client.json('POST', '/api/deployments', read, { json: checkable })
  const onBench = waiting.length === 0 ? [] : await planAhead(workspace, waiting, json, io)
  return { comparison, sources, pruned, endpoints: planOf(comparison, [...onService.endpoints, ...onBench]) }
}

async function countEntries(client: ServiceClient, source: string, condition: string): Promise<string> {
  const query = `SELECT count() AS n FROM ${sqlName(source)} WHERE ${condition}`
  const read = objectWith<{ result: { n: number }[] }>('result')
  const { result } = await client.json('POST', '/api/sql', read, { json: { query } })
  return plural(Number(result[0]?.n), 'entry', 'entries')
}

/** A temporary service that has the new sources checks the endpoints that read them. */
async function planAhead(
  workspace: Workspace,
  waiting: readonly ComparedEndpoint[],
  json: true | undefined,
  io: CommandIo,
) {
  const { problems, planned } = await withWorkbench(io, (bench) => planOnBench(workspace, waiting, bench))
  if (problems.length === 0) return planned
  await (json ? printJson(io, { problems }) : printFindings(problems, io))
  throw problemsFound(problems)
}

export function planText({ name, action, version, server_version, changes }: PlannedEndpoint, io: CommandIo) {
  const versions = action === 'updated' ? `version ${server_version} → ${version}` : `version ${version}`
  const lines = changes.map(({ breaking, message }) =>
    changeText(breaking ? 'breaking' : 'compatible', message, io),
  )
  return `${action} ${name} (${versions})\n${lines.join('')}`
}

export function sourceText({ name, action, changes }: PlannedSource, io: CommandIo): string {
  const lines = changes.map(({ effect, message }) => changeText(effect, message, io))
  return action === 'unchanged' ? '' : `${action} source ${name}\n${lines.join('')}`
}

function changeText(effect: string, message: string, { stdout: { colors } }: CommandIo): string {
  const padding = ' '.repeat(12 - effect.length)
  const shown = { breaking: colors.red(effect), warning: colors.yellow(effect) }[effect] ?? effect
  return `  ${shown}${padding}${visible(message)}\n`
}

export interface DiffOptions {
  exitCode?: true
  json?: true
}

export async function diff(
  client: ServiceClient,
  directory: string,
  { exitCode, json }: DiffOptions,
  io: CommandIo,
): Promise<void> {
  const plan = await planFor(await openChecked(directory, json, io), client, json ? { json } : {}, io)
  const { endpoints, sources, comparison } = plan
  if (json) {
    await printJson(io, {
      endpoints,
      sources,
      only_on_server: comparison.onlyOnServer.map(({ definition }) => definition.name),
    })
  } else await printDiff(plan, io)
  const differs = [...endpoints, ...sources].some(({ action }) => action !== 'unchanged')
  if (exitCode && differs) throw new CommandFailure('')
}

async function printDiff({ endpoints, comparison, sources }: Plan, io: CommandIo) {
  const { colors } = io.stdout
  for (const source of sources) await io.stdout.write(sourceText(source, io))
  const changes = endpoints.filter(({ action }) => action !== 'unchanged')
  for (const endpoint of changes) {
    const diff = endpoint.diff.split('\n').map((line) => {
      if (/^(---|\+\+\+)/.test(line)) return colors.bold(visible(line))
      if (line.startsWith('-')) return colors.red(visible(line))
      return line.startsWith('+') ? colors.green(visible(line)) : visible(line)
    })
    await io.stdout.write(`${planText(endpoint, io)}${diff.join('\n').trimEnd()}\n\n`)
  }
  const others = comparison.onlyOnServer.map(({ definition }) => definition.name)
  if (others.length > 0) await io.stdout.write(`only on the service: ${others.join(', ')}\n`)
  await printFindings(
    endpoints.flatMap(({ warnings }) => warnings),
    io,
  )
  const changed = sources.filter(({ action }) => action !== 'unchanged').length
  const what = changed > 0 ? `, ${plural(changed, 'source')}` : ''
  const unchanged = endpoints.length - changes.length
  await io.stdout.write(`${plural(changes.length, 'endpoint')}${what} to deploy, ${unchanged} unchanged.\n`)
}
