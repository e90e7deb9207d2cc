import type { Command } from 'commander'
import { collectPair, versionNumber } from '../arguments.ts'
import type { CommandIo } from '../command-io.ts'
import { printJson } from '../output/print.ts'
import { objectWith } from '../response-reader.ts'
import { addServiceAction, addServiceCommand } from '../service-command.ts'
import { addRowsOptions, type RowsOptions, showRows } from './show-rows.ts'

interface RunOptions extends RowsOptions {
  version?: number
  fresh?: true
  explain?: true
  lenient?: true
}

const planResponse = objectWith<{ plan: string }>('plan')

export function addEndpointRun(endpoint: Command, io: CommandIo): void {
  const run = addServiceCommand(endpoint, 'run', 'send a request to an endpoint and show the rows')
    .argument('<name>', 'name or id')
    .argument('[name=value...]', 'parameters', collectPair)
  addRowsOptions(run)
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
      const path = `/api/endpoints/query/${encodeURIComponent(name)}`
      const json = {
        ...parameters,
        ...(!options.lenient && { _strict: '1' }),
        ...(options.version !== undefined && { _version: String(options.version) }),
      }
      if (options.explain) {
        const explained = { json: { ...json, _explain: 'true' } }
        return printJson(io, await client.json('POST', path, planResponse, explained))
      }
      const headers = options.fresh ? { 'Cache-Control': 'no-cache' } : {}
      await showRows(options, client, io, (control) =>
        client.request('POST', path, { json: { ...json, ...control }, headers }),
      )
    },
  })
}
