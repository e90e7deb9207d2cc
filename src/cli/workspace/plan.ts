import { isReserved } from '../../endpoints/definition/definition.ts'
import type { DeploymentView } from '../../endpoints/manage/deployments.ts'
import { sqlName } from '../../sql/names.ts'
import { compareAlert } from '../../workspace/alert-file.ts'
import {
  type ComparedEndpoint,
  type Comparison,
  compareWithServer,
  deploymentOf,
  nameConflicts,
  type PlannedEndpoint,
  planOf,
  planOnBench,
} from '../../workspace/deployment-plan.ts'
import type { Workspace } from '../../workspace/workspace.ts'
import {
  columnsInUse,
  needsSources,
  type PlannedSource,
  planSources,
  sourceConflicts,
} from '../../workspace/workspace-sources.ts'
import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { plural } from '../output/format-amount.ts'
import { printJson } from '../output/print.ts'
import { visible } from '../output/visible.ts'
import { objectWith, type ServiceClient } from '../service-client.ts'
import { openWorkspace, printFindings, problemsFound } from './findings.ts'
import { fetchAlerts, fetchEndpoints, fetchSources } from './service-state.ts'
import { withWorkbench } from './with-workbench.ts'

/** What the service has, the workspace has not, and a deployment with --prune deletes. */
export interface PrunedItem {
  kind: 'endpoint' | 'alert'
  id: string
  name: string
  version: number
}

/** What a deployment changes on a service. */
export interface Plan {
  comparison: Comparison
  endpoints: PlannedEndpoint[]
  sources: PlannedSource[]
  alerts: ReturnType<typeof compareAlert>[]
  pruned: PrunedItem[]
}

/** Reads a workspace whose endpoints and sources have no problems. */
export async function openChecked(
  directory: string,
  json: true | undefined,
  io: CommandIo,
): Promise<Workspace> {
  const workspace = openWorkspace(directory, io)
  const problems = workspace.problems.filter(({ file }) => /^(endpoints|sources|alerts)\//.test(file))
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
  const taken = sourceConflicts(workspace.sources, current)
  if (taken.length > 0) throw new CommandFailure(taken.join('\n'))
  const sources = await planSources(workspace.sources, current, kept, (source, condition) =>
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
  const server = workspace.alerts.length === 0 ? [] : await fetchAlerts(client)
  const alerts = workspace.alerts.map((alert) => compareAlert(alert, server))
  // A workspace without alerts does not manage them.
  const prunedAlerts = server.filter(({ name }) => prune && alerts.every((alert) => alert.name !== name))
  return {
    comparison,
    sources,
    alerts,
    pruned: [
      ...pruned.map(({ definition, version }) => ({ kind: 'endpoint' as const, ...definition, version })),
      ...prunedAlerts.map((alert) => ({ kind: 'alert' as const, ...alert })),
    ],
    endpoints: planOf(comparison, [...onService.endpoints, ...onBench]),
  }
}

async function countEntries(client: ServiceClient, source: string, condition: string): Promise<string> {
  const query = `SELECT count() AS _n FROM ${sqlName(source)} WHERE ${condition}`
  const read = objectWith<{ result: { _n: number }[] }>('result')
  const { result } = await client.json('POST', '/api/sql', read, { json: { query } })
  return plural(Number(result[0]?._n), 'entry', 'entries')
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

export function alertText({ name, action }: Plan['alerts'][number]): string {
  return `${action} alert ${name}\n`
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
  const { endpoints, sources, comparison, alerts } = plan
  if (json) {
    await printJson(io, {
      endpoints,
      sources,
      alerts: alerts.map(({ name, file, action, diff }) => ({ name, file, action, diff })),
      only_on_server: comparison.onlyOnServer.map(({ definition }) => definition.name),
    })
  } else await printDiff(plan, io)
  if (exitCode && [...endpoints, ...sources, ...alerts].some(isChanged)) throw new CommandFailure('')
}

/** The results of an unchanged file change with the columns that it reads. */
function isChanged({ action, changes = [] }: { action: string; changes?: readonly object[] }): boolean {
  return action !== 'unchanged' || changes.length > 0
}

async function printDiff({ endpoints, comparison, sources, alerts }: Plan, io: CommandIo) {
  const { colors } = io.stdout
  for (const source of sources) await io.stdout.write(sourceText(source, io))
  const texts = [
    ...endpoints.filter(isChanged).map((endpoint) => ({ head: planText(endpoint, io), diff: endpoint.diff })),
    ...alerts.filter(isChanged).map((alert) => ({ head: alertText(alert), diff: alert.diff })),
  ]
  for (const { head, diff: text } of texts) {
    const diff = text.split('\n').map((line) => {
      if (/^(---|\+\+\+)/.test(line)) return colors.bold(visible(line))
      if (line.startsWith('-')) return colors.red(visible(line))
      return line.startsWith('+') ? colors.green(visible(line)) : visible(line)
    })
    await io.stdout.write(`${`${head}${diff.join('\n')}`.trimEnd()}\n\n`)
  }
  const others = comparison.onlyOnServer.map(({ definition }) => definition.name)
  if (others.length > 0) await io.stdout.write(`only on the service: ${others.join(', ')}\n`)
  await printFindings(
    endpoints.flatMap(({ warnings }) => warnings),
    io,
  )
  const changed = sources.filter(isChanged).length
  const what = changed > 0 ? `, ${plural(changed, 'source')}` : ''
  const unchanged = endpoints.filter(({ action }) => action === 'unchanged').length
  const deployed = plural(endpoints.length - unchanged, 'endpoint')
  await io.stdout.write(`${deployed}${what} to deploy, ${unchanged} unchanged.\n`)
}
