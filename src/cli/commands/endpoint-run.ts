import { open, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { outputFormats } from '../../endpoints/call/output-formats.ts'
import { collectPair, wholeNumber } from '../arguments.ts'
import { usageFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import type { ServiceChoice } from '../find-service.ts'
import { addExamples } from '../help.ts'
import { plural } from '../output/format-amount.ts'
import { printJson } from '../output/print.ts'
import { formatRows } from '../output/result-table.ts'
import { planAnswer, resultAnswer } from '../service-answers.ts'
import { addServiceOptions, connect, type ServiceClient } from '../service-client.ts'

const formats = ['table', ...outputFormats.map(({ name }) => name)] as const

type Format = (typeof formats)[number]

interface RunOptions extends ServiceChoice {
  format?: Format
  output?: string
  version?: number
  fresh?: true
  explain?: true
}

export function addEndpointRun(endpoint: Command, io: CommandIo): void {
  const run = addServiceOptions(endpoint.command('run').description('call an endpoint and show its rows'))
  run
    .argument('<name>', 'name or id')
    .argument('[name=value...]', 'parameters of the call', collectPair)
    .addOption(
      new Option('--format <format>', 'form of the rows (default: table on a terminal, else json)').choices(
        formats,
      ),
    )
    .option('--output <file>', 'write the rows to a file')
    .option('--version <n>', 'an older version of the endpoint', wholeNumber(1, 999_999_999))
    .option('--fresh', 'not from the cache')
    .option('--explain', 'how the engine runs the query, in place of rows')
    .action(async (name: string, parameters: Record<string, string> | undefined, options: RunOptions) => {
      const format = formatOf(options, io)
      const client = connect(options, io)
      // Found out before the query is run, and without taking away what is there.
      if (options.output !== undefined) await (await open(resolve(io.cwd, options.output), 'a')).close()
      const startedMs = performance.now()
      const response = await client.request('POST', `/api/endpoints/query/${encodeURIComponent(name)}`, {
        json: {
          ...parameters,
          _format: format === 'table' ? 'json' : format,
          ...(options.version !== undefined && { _version: String(options.version) }),
          ...(options.explain && { _explain: 'true' }),
        },
        headers: options.fresh ? { 'Cache-Control': 'no-cache' } : {},
      })
      const body = await client.read(response)
      const elapsedMs = performance.now() - startedMs
      if (options.explain) return printJson(io, client.parse(body, planAnswer))
      const { output, rows } = shape(body, format, client, io)
      if (options.output === undefined) await io.stdout.write(output)
      else await writeFile(resolve(io.cwd, options.output), output)
      await io.stderr.write(`${summary(response.headers, rows, elapsedMs)}\n`)
    })
  addExamples(
    run,
    'wellhead endpoint run usage.api-counts project=acme interval=daily',
    'wellhead endpoint run logs.all project=acme project_tier=PRO --format csv > logs.csv',
    'wellhead endpoint run functions.invocation-stats project=acme interval=7day --format parquet --output stats.parquet',
  )
}

function formatOf({ format, output }: RunOptions, io: CommandIo): Format {
  const toTerminal = output === undefined && io.stdout.isTerminal
  if (format === undefined) return toTerminal ? 'table' : 'json'
  if (toTerminal && (format === 'parquet' || format === 'arrow')) {
    throw usageFailure(`${format} is nothing for a terminal. Write it to a file with --output.`)
  }
  return format
}

/** What is written, and how many rows it has where that can be told. */
function shape(
  body: Buffer,
  format: Format,
  client: ServiceClient,
  io: CommandIo,
): { output: string | Buffer; rows: number | undefined } {
  if (format === 'table') {
    const { result } = client.parse(body, resultAnswer)
    return { output: formatRows(result, io.stdout), rows: result.length }
  }
  if (format === 'json') {
    const { result } = client.parse(body, resultAnswer)
    return { output: Buffer.concat([body, Buffer.from('\n')]), rows: result.length }
  }
  const cut = outputFormats.find(({ name }) => name === format)?.cut
  return { output: body, rows: cut?.(body, Number.MAX_SAFE_INTEGER).rows }
}

/** How the rows were come by, in a line. */
export function summary(headers: Headers, rows: number | undefined, elapsedMs: number): string {
  const parts = [
    ...(rows === undefined ? [] : [plural(rows, 'row')]),
    `${elapsedMs.toFixed(0)} ms`,
    cacheWords(headers.get('cache-status') ?? '', headers.get('age')),
    ...(headers.get('wellhead-truncated') === 'true' ? ['cut at the most rows that the endpoint gives'] : []),
  ]
  return parts.filter((part) => part !== '').join(', ')
}

function cacheWords(status: string, age: string | null): string {
  if (/;\s*hit\b/.test(status))
    return `from the cache, ${age ?? 0} s old${/stale/.test(status) ? ', stale' : ''}`
  if (/fwd=bypass/.test(status)) return 'not cached'
  return /fwd=/.test(status) ? 'computed' : ''
}
