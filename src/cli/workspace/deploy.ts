import type { AlertView } from '../../alerts/alert-admin.ts'
import type { Replay } from '../../endpoints/manage/replays.ts'
import { deploymentOf } from '../../workspace/deployment-plan.ts'
import { needsSources } from '../../workspace/workspace-sources.ts'
import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { confirm } from '../confirm.ts'
import { plural } from '../output/format-amount.ts'
import { printJson } from '../output/print.ts'
import { visible } from '../output/visible.ts'
import { apiPath, objectWith, type ServiceClient, ServiceFailure } from '../service-client.ts'
import { printFindings } from './findings.ts'
import { alertText, openChecked, type Plan, type PrunedItem, planFor, planText, sourceText } from './plan.ts'
import { differing, replayText } from './replay-report.ts'

export interface DeployOptions {
  dryRun?: true
  breaking?: true
  strict?: true
  replay?: true | 'strict'
  showValues?: true
  prune?: true
  yes?: true
  note?: string
  json?: true
}

export async function deploy(
  client: ServiceClient,
  directory: string,
  options: DeployOptions,
  io: CommandIo,
): Promise<void> {
  const workspace = await openChecked(directory, options.json, io)
  if (options.prune && workspace.endpoints.length === 0) {
    throw new CommandFailure(
      'The workspace has no endpoints, so --prune would delete every endpoint of the service; nothing was deployed.',
    )
  }
  const plan = await planFor(workspace, client, options, io)
  const { comparison, sources, pruned } = plan
  const warnings = plan.endpoints.flatMap((endpoint) => endpoint.warnings)
  if (!options.json) await printFindings(warnings, io)
  const replays = options.replay ? await replayUpdates(plan, client, options, io) : []
  const report = {
    deployed: false,
    sources,
    endpoints: plan.endpoints.map(({ diff: _, ...shown }) => shown),
    ...(plan.alerts.length > 0 && { alerts: plan.alerts.map(({ name, action }) => ({ name, action })) }),
    ...(options.replay && { replays }),
    ...(options.prune && { only_on_server: pruned.map(({ name }) => name), deleted: [] as string[] }),
  }
  const refusals = refusalsOf(plan, replays, options)
  if (refusals.length > 0 || options.dryRun) {
    if (options.json) await printJson(io, report)
    else await printPlan(plan, io)
    if (refusals.length > 0) throw new CommandFailure(refusals.join('\n'))
    if (!options.json) await printSummary('Would deploy', plan, client, options, io)
    return
  }
  if (pruned.length > 0) {
    const names = pruned.map(titleOf).join(', ')
    const isOne = pruned.length === 1
    const those = `${pruned.every(({ kind }) => kind === 'endpoint') ? `The endpoint${isOne ? '' : 's'} ` : ''}${names}`
    const effect = pruned.some(({ kind }) => kind === 'endpoint')
      ? `; requests to ${isOne ? 'it' : 'them'} will return 404`
      : ''
    await confirm(io, `${those} will be deleted${effect}.`, options.yes)
  }
  for (const { name, action, wanted, removed } of sources) {
    const { description, aliases, columns } = wanted
    const json = { description, aliases, columns: [...columns, ...removed] }
    if (action === 'created') await client.request('POST', '/api/sources', { json: wanted })
    if (action === 'updated') await client.request('PATCH', apiPath('sources', name), { json })
  }
  if (plan.endpoints.some(({ action }) => action !== 'unchanged')) {
    const { note, breaking = false } = options
    const json = {
      endpoints: deploymentOf(comparison.endpoints),
      allow_breaking: breaking,
      ...(note !== undefined && { note }),
    }
    await client.request('POST', '/api/deployments', { json })
  }
  report.deployed = true
  try {
    if (!options.json) await printPlan({ ...plan, pruned: [] }, io)
    for (const alert of plan.alerts) await deployAlert(alert, client, io)
    // Until here, endpoints may read columns that are removed, and a failure must not delete entries.
    for (const { name, action, wanted } of sources) {
      const json = { retention_days: wanted.retention_days, columns: wanted.columns }
      if (action === 'updated') await client.request('PATCH', apiPath('sources', name), { json })
    }
    for (const item of pruned) {
      await deleteUnchanged(item, client)
      report.deleted?.push(item.name)
      if (!options.json) await io.stdout.write(`deleted ${titleOf(item)}\n`)
    }
  } finally {
    if (options.json) await printJson(io, report)
  }
  if (!options.json) await printSummary('Deployed', plan, client, options, io)
}

function titleOf({ kind, name }: PrunedItem): string {
  return kind === 'alert' ? `alert ${name}` : name
}

/** Fails if the alert changed after it was compared. A mute stays. */
async function deployAlert(
  alert: Plan['alerts'][number],
  client: ServiceClient,
  io: CommandIo,
): Promise<void> {
  const { name, fields, current, action } = alert
  if (action === 'unchanged') return
  const reader = objectWith<AlertView>('notify')
  const { notify } = current
    ? await client.json('PATCH', apiPath('alerts', current.id), reader, {
        json: fields,
        headers: { 'If-Match': `"${current.version}"` },
      })
    : await client.json('POST', '/api/alerts', reader, { json: { name, ...fields } })
  for (const { url, secret } of notify) {
    // To the standard error, so that a report does not contain it.
    if (secret !== undefined) await io.stderr.write(`secret of ${name} for ${visible(url)}: ${secret}\n`)
  }
}

async function replayUpdates(
  { endpoints, comparison, sources }: Plan,
  client: ServiceClient,
  { json, showValues }: DeployOptions,
  io: CommandIo,
): Promise<Replay[]> {
  const replays: Replay[] = []
  for (const { id, name, action } of endpoints) {
    const endpoint = comparison.endpoints.find(({ definition }) => definition.id === id)?.definition
    if (action !== 'updated' || !endpoint) continue
    if (needsSources(endpoint.query, sources)) {
      await io.stderr.write(`not replayed: ${name} reads columns that the deployment adds\n`)
      continue
    }
    const path = apiPath('endpoints', id, 'replay')
    const body = { endpoint, show_values: showValues === true }
    const replay = await client.json('POST', path, objectWith<Replay>('requests', 'skipped'), { json: body })
    replays.push(replay)
    if (!json) await io.stdout.write(replayText(name, replay, io.stdout))
  }
  return replays
}

/** Why the plan is not deployed, all reasons together. */
function refusalsOf({ endpoints, sources }: Plan, replays: readonly Replay[], options: DeployOptions) {
  const outcome = options.dryRun ? 'the deployment would fail' : 'nothing was deployed'
  const refusals: string[] = []
  const refuse = (reason: string, advice: string) => refusals.push(`${reason}; ${outcome}. ${advice}`)
  const changes = sources.flatMap((source) => source.changes)
  const losing = changes.filter(({ effect }) => effect === 'breaking').length
  const breaking =
    endpoints.flatMap(({ changes }) => changes).filter((change) => change.breaking).length + losing
  if (breaking > 0 && !options.breaking) {
    const effect = losing > 0 ? 'break callers or senders, or delete entries' : 'break callers'
    refuse(`${plural(breaking, 'change')} would ${effect}`, 'Use --breaking to deploy anyway.')
  }
  const warnings =
    endpoints.flatMap((endpoint) => endpoint.warnings).length +
    changes.filter(({ effect }) => effect === 'warning').length
  if (options.strict && warnings > 0) {
    refuse(`${plural(warnings, 'warning')} found`, 'Omit --strict to deploy anyway.')
  }
  const different = replays.flatMap(differing).length
  if (options.replay === 'strict' && different > 0) {
    const requests = plural(
      different,
      'replayed request differs or fails',
      'replayed requests differ or fail',
    )
    refuse(requests, 'Use --replay to deploy anyway.')
  }
  const skipped = replays.reduce((sum, replay) => sum + replay.skipped, 0)
  if (options.replay === 'strict' && skipped > 0) {
    refuse(`${plural(skipped, 'recent request')} not replayed in time`, 'Use --replay to deploy anyway.')
  }
  return refusals
}

async function printPlan({ endpoints, sources, alerts, pruned }: Plan, io: CommandIo) {
  for (const source of sources) await io.stdout.write(sourceText(source, io))
  for (const endpoint of endpoints) await io.stdout.write(planText(endpoint, io))
  for (const alert of alerts) await io.stdout.write(alertText(alert))
  for (const item of pruned) await io.stdout.write(`deleted ${titleOf(item)}\n`)
}

async function printSummary(
  title: string,
  { endpoints, pruned }: Plan,
  client: ServiceClient,
  { prune }: DeployOptions,
  io: CommandIo,
): Promise<void> {
  const counts = (['created', 'updated', 'unchanged'] as const).map(
    (action) => `${endpoints.filter((endpoint) => endpoint.action === action).length} ${action}`,
  )
  if (prune) counts.push(`${pruned.length} deleted`)
  await io.stdout.write(`${title} to ${client.url}: ${counts.join(', ')}.\n`)
}

/** Fails if it changed after it was compared. */
async function deleteUnchanged({ kind, id, version }: PrunedItem, client: ServiceClient): Promise<void> {
  try {
    await client.request('DELETE', apiPath(`${kind}s`, id), { headers: { 'If-Match': `"${version}"` } })
  } catch (error) {
    const isGone = error instanceof ServiceFailure && /^(endpoint_)?not_found$/.test(error.details.code)
    if (!isGone) throw error
  }
}
