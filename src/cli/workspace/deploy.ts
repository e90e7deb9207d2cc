import { type Command, InvalidArgumentError } from 'commander'
import type { Replay, ReplayedRequest, RunFigures } from '../../shared/replayed-requests.ts'
import { addServiceAction, addServiceOptions } from '../kit/command.ts'
import { CommandFailure, type CommandIo, type CommandOutput, confirm } from '../kit/command-io.ts'
import { formatCount, plural, visible } from '../kit/output/format.ts'
import { coloredPatch, printJson } from '../kit/output/print.ts'
import { apiPath, type ServiceClient, ServiceFailure } from '../kit/service-client.ts'
import { addValuesOptions, openChecked, printFindings } from './files.ts'
import {
  assignmentText,
  effectOf,
  fetchDefinitions,
  type Plan,
  planFor,
  planJson,
  planText,
  refusedRows,
  type ServiceDefinition,
  sendDeployment,
  sendRows,
  titleOf,
} from './plan.ts'
import { assignPlans, refuseWithoutAdmin } from './project-plans.ts'

export function defineDiff(command: Command, io: CommandIo): void {
  addValuesOptions(addServiceOptions(command))
    .argument('[directory]', 'workspace directory', '.')
    .option('--exit-code', 'exit with 1 if anything differs')
    .option('--restore-erased', 'do not fail if rows of erased projects would come back')
    .option('--overwrite', 'do not fail if somebody else changed what would be deployed')
    .option('--json', 'print JSON')
  addServiceAction(command, io, {
    examples: ['wellhead diff', 'wellhead diff --url https://wellhead.example.com'],
    request: diff,
  })
}

export function defineDeploy(command: Command, io: CommandIo): void {
  addValuesOptions(addServiceOptions(command))
    .argument('[directory]', 'workspace directory', '.')
    .option('--dry-run', 'show what would be deployed')
    .option('--breaking', 'deploy changes that break callers')
    .option('--restore-erased', 'send rows of projects that were erased')
    .option('--overwrite', 'replace versions of others that this workspace has not seen')
    .option('--strict', 'deploy nothing if there are warnings')
    .option(
      '--replay [mode]',
      'compare the rows of recent requests before and after; --replay=strict deploys nothing if they differ',
      replayMode,
    )
    .option('--show-values', 'show parameters and differing rows of replayed requests')
    .option('--prune', 'delete endpoints, alerts and dashboards that no file has, except shipped ones')
    .option('--yes', 'delete without asking for confirmation')
    .option('--note <text>', 'why, stored with each new version')
    .option('--json', 'print JSON')
  addServiceAction(command, io, {
    examples: [
      'wellhead deploy --dry-run',
      'wellhead deploy --strict --replay=strict',
      'wellhead deploy --breaking --note "Drop the column old_status"',
      'wellhead deploy --prune',
    ],
    request: deploy,
  })
}

function replayMode(value: string): 'strict' {
  if (value === 'strict') return value
  throw new InvalidArgumentError('The only mode is strict. Write the directory before --replay.')
}

interface DiffOptions {
  exitCode?: true
  restoreErased?: true
  overwrite?: true
  json?: true
}

async function diff(client: ServiceClient, directory: string, options: DiffOptions): Promise<void> {
  const { io } = client
  const { exitCode, overwrite, restoreErased, json } = options
  const plan = await planFor(await openChecked(directory, json, io, options), client, { json })
  const onlyOnService = plan.onlyOnService.map(titleOf)
  const changed = plan.planned.filter(({ action }) => action !== 'unchanged')
  if (json) await printJson(io, { ...planJson(plan), only_on_server: onlyOnService })
  else {
    for (const each of changed) {
      const text = planText(each, io) + coloredPatch(each.diff, io.stdout.colors)
      await io.stdout.write(`${text.trimEnd()}\n\n`)
    }
    for (const one of plan.assignments) await io.stdout.write(assignmentText(one, io))
    if (onlyOnService.length > 0) await io.stdout.write(`only on the service: ${onlyOnService.join(', ')}\n`)
    await printWarnings(plan, io)
    const unchanged = plan.planned.length - changed.length
    const plans = plan.assignments.length > 0 ? `${plural(plan.assignments.length, 'plan')} to assign, ` : ''
    await io.stdout.write(
      `${plans}${plural(changed.length, 'definition')} to deploy, ${unchanged} unchanged.\n`,
    )
  }
  const refusals = [
    ...refusalsOf(plan, [], { dryRun: true, breaking: true, overwrite }),
    ...(restoreErased ? [] : erasedText(await refusedRows(client, plan))),
  ]
  if (refusals.length > 0) throw new CommandFailure(refusals.join('\n'))
  if (exitCode && changed.length + plan.assignments.length > 0) throw new CommandFailure('')
}

function printWarnings({ planned }: Plan, io: CommandIo): Promise<void> {
  const warnings = planned.flatMap((each) => each.warnings)
  return printFindings(warnings, io)
}

interface DeployOptions {
  dryRun?: true
  breaking?: true
  restoreErased?: true
  overwrite?: true | undefined
  strict?: true
  replay?: true | 'strict'
  showValues?: true
  prune?: true
  yes?: true
  note?: string
  json?: true
}

async function deploy(client: ServiceClient, directory: string, options: DeployOptions): Promise<void> {
  const { io } = client
  const { json, note, breaking: allow_breaking = false } = options
  const plan = await planFor(await openChecked(directory, json, io, options), client, options)
  const { planned, pruned, assignments } = plan
  if (!json) await printWarnings(plan, io)
  const replays = options.replay ? await replayUpdates(plan, client, options) : []
  const refusals = [
    ...refusalsOf(plan, replays, options),
    ...(options.restoreErased ? [] : erasedText(await refusedRows(client, plan))),
  ]
  const deployed = refusals.length === 0 && !options.dryRun
  if (deployed && assignments.length > 0) await refuseWithoutAdmin(client)
  if (deployed && pruned.length > 0) {
    await confirm(io, `${pruned.map(titleOf).join(', ')} will be deleted.`, options.yes)
    await refuseChanged(pruned, client)
  }
  if (deployed && planned.some(({ action }) => action !== 'unchanged')) {
    const response = await sendDeployment(client, plan, { allow_breaking, note })
    // What is new got its id only now.
    for (const one of planned) {
      one.id = response[one.kind.folder]?.find(({ name }) => name === one.name)?.id ?? one.id
    }
    for (const { name, secrets = [] } of Object.values(response).flat()) {
      // To the standard error, so that a report does not contain them.
      for (const { url, secret } of secrets)
        await io.stderr.write(`secret of ${name} for ${visible(url)}: ${secret}\n`)
    }
  }
  if (deployed) {
    await rememberVersions(plan)
    await sendRows(client, plan, options.restoreErased === true)
    await assignPlans(client, assignments, allow_breaking)
  }
  if (json) await printJson(io, { deployed, ...planJson(plan), ...(options.replay && { replays }) })
  else {
    for (const one of planned) await io.stdout.write(planText(one, io))
    for (const one of assignments) await io.stdout.write(assignmentText(one, io))
  }
  if (refusals.length > 0) throw new CommandFailure(refusals.join('\n'))
  if (json) return
  const actions = ['created', 'updated', 'unchanged', ...(options.prune ? ['deleted'] : [])]
  const counts = actions.map((each) => `${planned.filter(({ action }) => action === each).length} ${each}`)
  const assigned = assignments.length > 0 ? `, ${plural(assignments.length, 'plan')} assigned` : ''
  await io.stdout.write(
    `${deployed ? 'Deployed' : 'Would deploy'} to ${client.url}: ${counts.join(', ')}${assigned}.\n`,
  )
}

const erasedText = (refusals: readonly string[]) =>
  refusals.map((refusal) => `${refusal} Use --restore-erased to send them anyway.`)

function rememberVersions({ planned, files, seen }: Plan): Promise<void> {
  const left = planned.filter(({ action }) => action !== 'deleted')
  const versions = left.map(({ kind, name, version, action, file }) => {
    const current = files.find((each) => each.file === file)?.current
    return { kind, name, version, by: action === 'unchanged' ? current?.updatedBy.id : undefined }
  })
  return seen.write(versions, 'go')
}

/** A deployment deletes any version, so this notices what changed while somebody was asked. */
async function refuseChanged(pruned: readonly ServiceDefinition[], client: ServiceClient): Promise<void> {
  const now = await fetchDefinitions(client)
  const changed = pruned.filter(({ id, version }) => now.find((each) => each.id === id)?.version !== version)
  if (changed.length === 0) return
  throw new CommandFailure(`${changed.map(titleOf).join(', ')} changed meanwhile; nothing was deployed.`)
}

function refusalsOf({ planned }: Plan, replays: readonly Replay[], options: DeployOptions): string[] {
  const outcome = options.dryRun ? 'the deployment would fail' : 'nothing was deployed'
  const refusals: string[] = []
  const refuse = (count: number, one: string, many: string, advice: string) => {
    if (count > 0) refusals.push(`${plural(count, one, many)}; ${outcome}. ${advice} to deploy anyway.`)
  }
  if (!options.overwrite) {
    const newer = planned.filter(({ elsewhere }) => elsewhere !== undefined).length
    const others = ['definition was changed by somebody else', 'definitions were changed by others'] as const
    refuse(newer, ...others, 'Run wellhead pull to get the changes, or use --overwrite')
  }
  const effects = planned.flatMap(({ changes }) => changes.map(effectOf))
  const count = (effect: string) => effects.filter((each) => each === effect).length
  if (!options.breaking) {
    refuse(count('breaking'), 'change would break callers', 'changes would break callers', 'Use --breaking')
  }
  if (options.strict) {
    const warnings = planned.flatMap(({ warnings }) => warnings).length + count('warning')
    refuse(warnings, 'warning found', 'warnings found', 'Omit --strict')
  }
  if (options.replay === 'strict') {
    const different = replays.flatMap(differing).length
    const skipped = replays.reduce((sum, replay) => sum + replay.skipped, 0)
    const differ = ['replayed request differs or fails', 'replayed requests differ or fail'] as const
    refuse(different, ...differ, 'Use --replay')
    const late = ['recent request not replayed in time', 'recent requests not replayed in time'] as const
    refuse(skipped, ...late, 'Use --replay')
  }
  return refusals
}

async function replayUpdates(
  { files, planned }: Plan,
  client: ServiceClient,
  { json, showValues }: DeployOptions,
): Promise<Replay[]> {
  const { stdout, stderr } = client.io
  const replays: Replay[] = []
  for (const { kind, id, name, action, file } of planned) {
    if (kind.name !== 'endpoint' || action !== 'updated') continue
    const endpoint = files.find((each) => each.file === file)?.fields
    const body = { endpoint, show_values: showValues === true }
    const replay = await client
      .json<Replay>('POST', apiPath('endpoints', id, 'replay'), { json: body })
      .catch((error) => {
        // The plan was valid with the sources that come with it.
        if (error instanceof ServiceFailure && error.details.code === 'invalid_query') return undefined
        throw error
      })
    if (!replay) await stderr.write(`not replayed: ${name} reads columns that the deployment adds\n`)
    else replays.push(replay)
    if (replay && !json) await stdout.write(replayText(name, replay, stdout))
  }
  return replays
}

export function differing({ requests }: Replay): ReplayedRequest[] {
  return requests.filter(({ outcome }) => outcome !== 'same')
}

/** What recent requests would return and cost after the change. */
export function replayText(name: string, replay: Replay, { colors }: CommandOutput): string {
  const { requests, skipped } = replay
  if (requests.length + skipped === 0) return `no recent requests of ${name} to replay\n`
  const counts = (['same', 'different', 'failed'] as const).map(
    (outcome) => `${requests.filter((request) => request.outcome === outcome).length} ${outcome}`,
  )
  const kinds = { different: colors.yellow('different'), failed: colors.red('failed   '), same: '' }
  const lines = differing(replay).flatMap((request) => {
    const { examples = [] } = request
    const about = [plural(request.uses, 'use'), ...(request.tenant ? ['tenant'] : []), ...valuesOf(request)]
    return [
      `  ${kinds[request.outcome]}  ${visible(about.join(', '))}: ${visible(differenceOf(request))}`,
      ...examples.map((example) => `    ${visible(JSON.stringify(example))}`),
    ]
  })
  const total = (side: 'before' | 'after') => ({
    duration_ms: requests.reduce((sum, request) => sum + request[side].duration_ms, 0),
    rows_read: requests.reduce((sum, request) => sum + (request[side].rows_read ?? 0), 0),
  })
  const title = `replayed ${plural(requests.length, 'recent request')} of ${name}: ${counts.join(', ')}`
  const late = skipped > 0 ? [`  skipped    ${plural(skipped, 'request')}: the time was over`] : []
  return [title, ...lines, ...late, `  in total: ${costText(total('before'), total('after'))}`]
    .map((line) => `${line}\n`)
    .join('')
}

function valuesOf({ parameters = {}, project }: ReplayedRequest): string[] {
  const values = Object.entries(parameters).map(([name, value]) => `${name}=${value}`)
  return project ? [`project ${project}`, ...values] : values
}

function differenceOf(request: ReplayedRequest): string {
  const { before, after, added_rows, removed_rows } = request
  if (after.error) return `${after.error.code}: ${after.error.message}`
  if (before.error) return `failed before with ${before.error.code}, now ${plural(after.rows ?? 0, 'row')}`
  const rows = Object.entries({ removed: removed_rows, added: added_rows })
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${plural(count, 'row')} ${kind}`)
  const parts = [
    ...rows,
    ...(request.reordered ? ['rows in another order'] : []),
    ...(request.unstable ? ['the current version also returns other rows each time'] : []),
    costText(before, after),
  ]
  return parts.join('; ')
}

type Cost = Pick<RunFigures, 'duration_ms' | 'rows_read'>

function costText(before: Cost, after: Cost): string {
  const times = [before, after]
    .map(({ duration_ms: ms }) => (ms < 10 ? ms.toFixed(1) : formatCount(ms)))
    .join(' → ')
  const rows = [before, after].map(({ rows_read }) => formatCount(rows_read ?? 0)).join(' → ')
  return `${times} ms, ${rows} rows read`
}
