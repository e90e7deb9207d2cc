import type { ReplayedRequest, RunFigures } from '../../endpoints/manage/replayed-request.ts'
import type { Replay } from '../../endpoints/manage/replays.ts'
import type { CommandIo, CommandOutput } from '../command-io.ts'
import { formatCount, plural } from '../output/format-amount.ts'
import { visible } from '../output/visible.ts'
import { apiPath, objectWith, type ServiceClient, ServiceFailure } from '../service-client.ts'
import type { Plan } from './plan.ts'

/** Tries the new versions of endpoints with their recent requests. */
export async function replayUpdates(
  { files, planned }: Plan,
  client: ServiceClient,
  { json, showValues }: { json?: true; showValues?: true },
  io: CommandIo,
): Promise<Replay[]> {
  const replays: Replay[] = []
  for (const { id, name, action, file } of planned.endpoints ?? []) {
    if (action !== 'updated') continue
    const endpoint = files.find((each) => each.file === file)?.fields
    const body = { endpoint, show_values: showValues === true }
    const read = objectWith<Replay>('requests', 'skipped')
    const replay = await client
      .json('POST', apiPath('endpoints', id, 'replay'), read, { json: body })
      .catch((error) => {
        // The plan was valid with the sources that come with it.
        if (error instanceof ServiceFailure && error.details.code === 'invalid_query') return undefined
        throw error
      })
    if (!replay) await io.stderr.write(`not replayed: ${name} reads columns that the deployment adds\n`)
    else replays.push(replay)
    if (replay && !json) await io.stdout.write(replayText(name, replay, io.stdout))
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
      `  ${kinds[request.outcome]}  ${visible(about.join(', '))}: ${visible(effectOf(request))}`,
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

function effectOf(request: ReplayedRequest): string {
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
