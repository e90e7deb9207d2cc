import { open, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { z } from 'zod'
import { formatAge } from '../../base/duration.ts'
import { outputFormats } from '../../endpoints/call/output-formats.ts'
import { collectPair, versionNumber } from '../arguments.ts'
import { usageFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { plural } from '../output/format-amount.ts'
import { printJson } from '../output/print.ts'
import { formatRows } from '../output/table.ts'
import type { ServiceClient } from '../service-client.ts'
import { addServiceAction, addServiceCommand } from '../service-command.ts'

const formats = ['table', ...outputFormats.map(({ name }) => name)] as const

type Format = (typeof formats)[number]

interface RunOptions {
  format?: Format
  output?: string
  version?: number
  fresh?: true
  explain?: true
  lenient?: true
}

const resultResponse = z.looseObject({ result: z.array(z.record(z.string(), z.unknown())) })

export function addEndpointRun(endpoint: Command, io: CommandIo): void {
  const format = new Option('--format <format>', 'output format (default: table on a terminal, else json)')
  const run = addServiceCommand(endpoint, 'run', 'send a request to an endpoint and show the rows')
    .argument('<name>', 'name or id')
    .argument('[name=value...]', 'parameters', collectPair)
    .addOption(format.choices(formats))
    .option('--output <file>', 'write the rows to a file')
    .option('--version <n>', 'an older version of the endpoint', versionNumber)
    .option('--fresh', 'bypass the cache')
    .option('--explain', 'show the query plan instead of rows')
    .option('--lenient', 'ignore parameters that the endpoint does not have, instead of refusing them')
  addServiceAction(run, io, {
    examples: [
      'wellhead endpoint run usage.api-counts project=acme interval=daily',
      'wellhead endpoint run logs.all project=acme project_tier=PRO --format csv > logs.csv',
      'wellhead endpoint run functions.invocation-stats project=acme interval=7day --format parquet --output stats.parquet',
    ],
    request: async (client, name: string, parameters: Record<string, string>, options: RunOptions) => {
      const format = formatOf(options, io)
      const file = options.output === undefined ? undefined : resolve(io.cwd, options.output)
      // A missing token must not leave an empty file, and an unwritable file must fail before the query runs.
      client.find()
      if (file !== undefined) await (await open(file, 'a')).close()
      const startedMs = performance.now()
      const response = await client.request('POST', `/api/endpoints/query/${encodeURIComponent(name)}`, {
        json: {
          ...parameters,
          _format: format === 'table' ? 'json' : format,
          // Numbers do not tell which of them are timestamps; the service knows the types.
          ...(format === 'table' && { _timestamps: 'iso' }),
          ...(!options.lenient && { _strict: '1' }),
          ...(options.version !== undefined && { _version: String(options.version) }),
          ...(options.explain && { _explain: 'true' }),
        },
        headers: options.fresh ? { 'Cache-Control': 'no-cache' } : {},
      })
      const body = await client.read(response)
      const elapsedMs = performance.now() - startedMs
      if (options.explain) {
        return printJson(io, client.parse(body, z.looseObject({ plan: z.string() })))
      }
      const { output, rows } = render(body, format, client, io)
      await (file === undefined ? io.stdout.write(output) : writeFile(file, output))
      await io.stderr.write(`${summary(response.headers, rows, elapsedMs)}\n`)
    },
  })
}

function formatOf({ format, output }: RunOptions, io: CommandIo): Format {
  const toTerminal = output === undefined && io.stdout.isTerminal
  if (format === undefined) return toTerminal ? 'table' : 'json'
  if (toTerminal && (format === 'parquet' || format === 'arrow')) {
    throw usageFailure(`${format} is a binary format. Write it to a file with --output.`)
  }
  return format
}

function render(body: Buffer, format: Format, client: ServiceClient, io: CommandIo) {
  if (format === 'table' || format === 'json') {
    const { result } = client.parse(body, resultResponse)
    return { output: format === 'table' ? formatRows(result, io.stdout) : `${body}\n`, rows: result.length }
  }
  const count = outputFormats.find(({ name }) => name === format)?.cut
  return { output: body, rows: count?.(body, Number.MAX_SAFE_INTEGER).rows }
}

function summary(headers: Headers, rows: number | undefined, elapsedMs: number): string {
  const parts = [
    rows === undefined ? '' : plural(rows, 'row'),
    `${elapsedMs.toFixed(0)} ms`,
    cacheText(headers.get('cache-status') ?? '', headers.get('age')),
    headers.get('wellhead-truncated') === 'true' ? "truncated at the endpoint's maximum" : '',
  ]
  return parts.filter((part) => part !== '').join(', ')
}

function cacheText(status: string, age: string | null): string {
  if (/;\s*hit\b/.test(status))
    return `from the cache, ${formatAge(Number(age ?? 0))} old${/stale/.test(status) ? ', stale' : ''}`
  if (/fwd=bypass/.test(status)) return 'not cached'
  return /fwd=/.test(status) ? 'computed' : ''
}
