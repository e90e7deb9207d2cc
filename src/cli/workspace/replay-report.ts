import { z } from 'zod'
import type { CommandOutput } from '../command-io.ts'
import { formatCount, plural } from '../output/format-amount.ts'
import { visible } from '../output/visible.ts'

const side = z.looseObject({
  rows: z.number(),
  duration_ms: z.number(),
  rows_read: z.number(),
  error: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
})

const replayedRequest = z.looseObject({
  uses: z.number(),
  tenant: z.boolean(),
  format: z.string(),
  outcome: z.enum(['same', 'different', 'failed']),
  before: side,
  after: side,
  changed_rows: z.number(),
  added_rows: z.number(),
  removed_rows: z.number(),
  columns: z.array(z.looseObject({ name: z.string(), changed: z.number() })),
  parameters: z.record(z.string(), z.unknown()).optional(),
  project: z.string().nullish(),
  examples: z.array(z.unknown()).optional(),
})

type ReplayedRequest = z.output<typeof replayedRequest>

/** Response of POST /api/endpoints/{ref}/replay. */
export const replayResponse = z.looseObject({ endpoint: z.string(), requests: z.array(replayedRequest) })

export type ReplayResponse = z.output<typeof replayResponse>

export function differing({ requests }: ReplayResponse): ReplayedRequest[] {
  return requests.filter(({ outcome }) => outcome !== 'same')
}

/** What recent requests would return and cost after the change. */
export function replayText(name: string, { requests }: ReplayResponse, { colors }: CommandOutput): string {
  if (requests.length === 0) return `no recent requests of ${name} to replay\n`
  const counts = (['same', 'different', 'failed'] as const).map(
    (outcome) => `${requests.filter((request) => request.outcome === outcome).length} ${outcome}`,
  )
  const kinds = {
    different: colors.yellow('different'),
    failed: colors.red('failed   '),
    slower: 'slower   ',
  }
  const lines = requests.flatMap((request) => {
    const kind = request.outcome === 'same' ? (isSlower(request) ? 'slower' : undefined) : request.outcome
    if (kind === undefined) return []
    const { examples = [] } = request
    const about = [plural(request.uses, 'use'), ...(request.tenant ? ['tenant'] : []), ...valuesOf(request)]
    return [
      `  ${kinds[kind]}  ${visible(about.join(', '))}: ${visible(effectOf(request))}`,
      ...examples.map((example) => `    ${visible(JSON.stringify(example))}`),
    ]
  })
  const total = (of: (request: ReplayedRequest) => number) =>
    requests.reduce((sum, request) => sum + of(request), 0)
  const cost = costText(
    {
      duration_ms: total(({ before }) => before.duration_ms),
      rows_read: total((one) => one.before.rows_read),
    },
    { duration_ms: total(({ after }) => after.duration_ms), rows_read: total((one) => one.after.rows_read) },
  )
  const title = `replayed ${plural(requests.length, 'recent request')} of ${name}: ${counts.join(', ')}`
  return [title, ...lines, `  in total: ${cost}`].map((line) => `${line}\n`).join('')
}

const slowerFactor = 2
/** Shorter times vary too much from run to run. */
const minSlowerMs = 100

function isSlower({ before, after }: ReplayedRequest): boolean {
  const grows = (one: number, other: number) => other > one * slowerFactor
  return (
    grows(before.rows_read, after.rows_read) ||
    (grows(before.duration_ms, after.duration_ms) && after.duration_ms - before.duration_ms > minSlowerMs)
  )
}

function valuesOf({ parameters = {}, project }: ReplayedRequest): string[] {
  const values = Object.entries(parameters).map(([name, value]) => `${name}=${value}`)
  return project == null ? values : [`project ${project}`, ...values]
}

function effectOf({ before, after, changed_rows, added_rows, removed_rows, columns }: ReplayedRequest) {
  if (after.error) return `${after.error.code}: ${after.error.message}`
  if (before.error) return `failed before with ${before.error.code}, now ${plural(after.rows, 'row')}`
  const rows = Object.entries({ changed: changed_rows, added: added_rows, removed: removed_rows })
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${plural(count, 'row')} ${kind}`)
  const changed = columns.map(({ name, changed: count }) => `${name} (${formatCount(count)})`)
  const parts = [...rows, ...(changed.length > 0 ? [`columns ${changed.join(', ')}`] : [])]
  return [...parts, costText(before, after)].join('; ')
}

type Cost = Pick<z.output<typeof side>, 'duration_ms' | 'rows_read'>

function costText(before: Cost, after: Cost): string {
  const times = [before, after].map(({ duration_ms }) => milliseconds(duration_ms)).join(' → ')
  const rows = [before, after].map(({ rows_read }) => formatCount(rows_read)).join(' → ')
  return `${times} ms, ${rows} rows read`
}

function milliseconds(value: number): string {
  return value < 10 ? value.toFixed(1) : formatCount(value)
}
