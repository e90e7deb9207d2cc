import type { NewSource } from '../../catalog/source.ts'
import type { DeploymentView } from '../../endpoints/manage/deployments.ts'
import { compareAlert, type ServerAlert } from '../../workspace/alert-file.ts'
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
import { objectWith, type ServiceClient } from '../service-client.ts'
import { openWorkspace, printFindings } from './findings.ts'
import { fetchAlerts, fetchEndpoints, fetchSources } from './pull-files.ts'

/** What a deployment would change on a service. */
export interface Plan {
  comparison: Comparison
  endpoints: PlannedEndpoint[]
  missing: NewSource[]
  changed: ChangedSource[]
  alerts: ReturnType<typeof compareAlert>[]
  /** Empty if the workspace has no alerts: it does not manage them then. */
  onlyOnServer: ServerAlert[]
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

export async function planFor(workspace: Workspace, client: ServiceClient): Promise<Plan> {
  const comparison = compareWithServer(workspace, await fetchEndpoints(client))
  const conflicts = nameConflicts(comparison)
  if (conflicts.length > 0) {
    throw new CommandFailure(
      `${conflicts.join('\n')}\nUse that id in the file to update the endpoint, or choose another name.`,
    )
  }
  const current = await sourcesOf(workspace, client)
  const missing = missingSources(workspace, current)
  const files = workspace.sources.map(({ source }) => source)
  const json = { endpoints: deploymentOf(comparison), dry_run: true }
  const read = objectWith<DeploymentView>('endpoints')
  const deployment = await client.json('POST', '/api/deployments', read, { json })
  const endpoints = planOf(comparison, deployment.endpoints)
  const server = workspace.alerts.length === 0 ? [] : await fetchAlerts(client)
  const alerts = workspace.alerts.map((alert) => compareAlert(alert, server))
  const onlyOnServer = server.filter(({ name }) => alerts.every((alert) => alert.name !== name))
  return { comparison, endpoints, missing, changed: sourceChanges(files, current), alerts, onlyOnServer }
}

export async function sourcesOf({ sources }: Workspace, client: ServiceClient): Promise<NewSource[]> {
  return sources.length === 0 ? [] : fetchSources(client)
}

export function missingSources({ sources }: Workspace, current: readonly NewSource[]): NewSource[] {
  const names = new Set(current.map(({ name }) => name))
  return sources.map(({ source }) => source).filter(({ name }) => !names.has(name))
}

export function planText({ name, action, version, server_version, changes }: PlannedEndpoint, io: CommandIo) {
  const { colors } = io.stdout
  const versions = action === 'updated' ? `version ${server_version} → ${version}` : `version ${version}`
  const lines = changes.map(({ breaking, message }) =>
    breaking ? `  ${colors.red('breaking')}    ${visible(message)}` : `  compatible  ${visible(message)}`,
  )
  return [`${action} ${name} (${versions})`, ...lines].map((line) => `${line}\n`).join('')
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
  const plan = await planFor(await openChecked(directory, json, io), client)
  const { endpoints, missing, changed, comparison, alerts } = plan
  if (json) {
    await printJson(io, {
      endpoints,
      missing_sources: missing.map(({ name }) => name),
      sources: changed,
      alerts: alerts.map(({ name, file, action, diff }) => ({ name, file, action, diff })),
      only_on_server: comparison.onlyOnServer.map(({ definition }) => definition.name),
    })
  } else await printDiff(plan, io)
  const sources = missing.length + changed.length
  const differs = sources > 0 || [...endpoints, ...alerts].some(({ action }) => action !== 'unchanged')
  if (exitCode && differs) throw new CommandFailure('')
}

async function printDiff({ endpoints, comparison, missing, changed, alerts }: Plan, io: CommandIo) {
  const { colors } = io.stdout
  const changes = endpoints.filter(({ action }) => action !== 'unchanged')
  const changedAlerts = alerts.filter(({ action }) => action !== 'unchanged')
  const texts = [
    ...changes.map((endpoint) => ({ head: planText(endpoint, io), diff: endpoint.diff })),
    ...changedAlerts.map((alert) => ({ head: alertText(alert), diff: alert.diff })),
  ]
  for (const { head, diff: text } of texts) {
    const diff = text.split('\n').map((line) => {
      if (/^(---|\+\+\+)/.test(line)) return colors.bold(visible(line))
      if (line.startsWith('-')) return colors.red(visible(line))
      return line.startsWith('+') ? colors.green(visible(line)) : visible(line)
    })
    await io.stdout.write(`${head}${diff.join('\n').trimEnd()}\n\n`)
  }
  for (const { name } of missing) await io.stdout.write(`not on the service: source ${name}\n`)
  for (const { message } of changed) await io.stdout.write(`differs: ${visible(message)}\n`)
  const others = comparison.onlyOnServer.map(({ definition }) => definition.name)
  if (others.length > 0) await io.stdout.write(`only on the service: ${others.join(', ')}\n`)
  await printFindings(
    endpoints.flatMap(({ warnings }) => warnings),
    io,
  )
  const unchanged = endpoints.length - changes.length
  await io.stdout.write(`${plural(changes.length, 'endpoint')} to deploy, ${unchanged} unchanged.\n`)
}
