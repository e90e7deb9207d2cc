import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { formatAge } from '../../core/base/text/duration.ts'
import { outputFormats } from '../../core/endpoints/call/output-formats.ts'
import { cacheOutcome } from '../../shared/cache-status.ts'
import { type CommandIo, usageFailure } from './command-io.ts'
import { plural } from './output/format.ts'
import type { ServiceClient } from './service-client.ts'

const formats = ['table', ...outputFormats.map(({ name }) => name)] as const

type Format = (typeof formats)[number]

export interface RowsOptions {
  format?: Format
  output?: string
}

export function addRowsOptions(command: Command): Command {
  const format = new Option('--format <format>', 'output format (default: table on a terminal, else json)')
  return command.addOption(format.choices(formats)).option('--output <file>', 'write the rows to a file')
}

export async function showRows(
  options: RowsOptions,
  client: ServiceClient,
  request: (control: Record<string, string>) => Promise<Response>,
): Promise<void> {
  const { io } = client
  const format = formatOf(options, io)
  const file = options.output === undefined ? undefined : resolve(io.cwd, options.output)
  const startedMs = performance.now()
  // Numbers do not tell which of them are timestamps; the service knows the types.
  const control = format === 'table' ? { _format: 'json', _timestamps: 'iso' } : { _format: format }
  const response = await request(control)
  const body = await client.read(response)
  const elapsedMs = performance.now() - startedMs
  const { output, rows } = await render(body, format, client)
  await (file === undefined ? io.stdout.write(output) : writeFile(file, output))
  await io.stderr.write(`${summary(response.headers, rows, elapsedMs)}\n`)
}

function formatOf({ format, output }: RowsOptions, io: CommandIo): Format {
  const toTerminal = output === undefined && io.stdout.isTerminal
  if (format === undefined) return toTerminal ? 'table' : 'json'
  if (toTerminal && outputFormats.find(({ name }) => name === format)?.form === 'typed') {
    throw usageFailure(`${format} is a binary format. Write it to a file with --output.`)
  }
  return format
}

async function render(body: Buffer, format: Format, client: ServiceClient) {
  if (format === 'table' || format === 'json') {
    const { result } = client.parse<{ result: Record<string, unknown>[] }>(body)
    const rows = result.length
    if (format === 'json') return { output: `${body}\n`, rows }
    const { formatTable } = await import('./output/table.ts')
    const names = Object.keys(result[0] ?? {})
    const values = result.map((row) => names.map((name) => row[name]))
    return { output: formatTable(names, values, cellText, client.io.stdout), rows }
  }
  const count = outputFormats.find(({ name }) => name === format)?.cut
  return { output: body, rows: count?.(body, Number.MAX_SAFE_INTEGER).rows }
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function summary(headers: Headers, rows: number | undefined, elapsedMs: number): string {
  const parts = [
    rows === undefined ? '' : plural(rows, 'row'),
    `${elapsedMs.toFixed(0)} ms`,
    cacheText(headers.get('cache-status') ?? '', headers.get('age')),
    headers.get('wellhead-truncated') === 'true' ? 'truncated at the maximum number of rows' : '',
  ]
  return parts.filter((part) => part !== '').join(', ')
}

function cacheText(status: string, age: string | null): string {
  if (status === '') return ''
  const outcome = cacheOutcome(status)
  if (outcome === 'not cached') return outcome
  if (outcome !== 'hit' && outcome !== 'stale') return 'computed'
  return `from the cache, ${formatAge(Number(age ?? 0))} old${outcome === 'stale' ? ', stale' : ''}`
}
