import type { Command } from 'commander'
import { formatDuration } from '../../core/base/text/duration.ts'
import type { EndpointView } from '../../core/endpoints/manage/endpoint-kind.ts'
import {
  addExamples,
  addServiceAction,
  addServiceCommand,
  collectPair,
  collectValues,
  versionNumber,
} from '../kit/command.ts'
import { CommandFailure, type CommandIo } from '../kit/command-io.ts'
import { definitionCommands } from '../kit/definition-commands.ts'
import { type ListColumn, printFields, printJson, printList } from '../kit/output/print.ts'
import { apiPath, type ServiceClient } from '../kit/service-client.ts'
import { addRowsOptions, type RowsOptions, showRows } from '../kit/show-rows.ts'
import type { NewOptions } from '../workspace/new-files.ts'

const duration = (seconds: number | null) => (seconds === null ? null : formatDuration(seconds))

const columns: readonly ListColumn<EndpointView>[] = [
  'name',
  'version',
  { title: 'CACHE', of: ({ cache_seconds }) => duration(cache_seconds) },
  { title: 'WARM', of: ({ warm_seconds }) => duration(warm_seconds) },
  'published',
  'updated_at',
  'description',
]

interface RunOptions extends RowsOptions {
  version?: number
  fresh?: true
  explain?: true
  lenient?: true
}

interface RollbackOptions {
  breaking?: true
  note?: string
}

export function defineEndpoint(endpoint: Command, io: CommandIo): void {
  addExamples(
    endpoint,
    'wellhead endpoint list',
    'wellhead endpoint run usage.api-counts project=acme interval=daily',
  )

  addEndpointNew(endpoint, io)

  const endpoints = definitionCommands<EndpointView>(endpoint, io, {
    noun: 'endpoint',
    folder: 'endpoints',
    reference: 'name or id',
  })

  endpoints.list({ columns, examples: ['wellhead endpoint list'] })

  const show = endpoints
    .command('show', 'show an endpoint')
    .option('--version <n>', 'an older version', versionNumber)
    .option('--sql', 'print only the SQL')
  addServiceAction(show, io, {
    examples: ['wellhead endpoint show logs.all', 'wellhead endpoint show logs.all --version 2 --sql'],
    request: async (client, name: string, { version }: { version?: number; sql?: true }) => {
      const found =
        version === undefined
          ? await endpoints.read(client, name)
          : (await versionsOf(name, client)).find((one) => one.version === version)
      if (!found) throw new CommandFailure(`${name} has no version ${version}.`)
      return found
    },
    print: (found, _name, { sql }) => (sql ? io.stdout.write(`${found.query}\n`) : printEndpoint(io, found)),
  })

  addEndpointRun(endpoint, io)

  const versions = endpoints.command('versions', 'list the versions of an endpoint')
  addServiceAction(versions, io, {
    examples: ['wellhead endpoint versions logs.all'],
    request: (client, name: string) => versionsOf(name, client),
    print: (all) => printList(io, ['version', 'updated_at', updatedBy, 'name', 'note'], all, 'No versions.'),
  })

  const rollback = endpoints
    .command('rollback', 'restore an older version as a new one')
    .argument('[version]', 'version to restore (default: the one before the current)', versionNumber)
    .option('--breaking', 'restore it even if that breaks callers')
    .option('--note <text>', 'why, stored with the new version')
  addServiceAction(rollback, io, {
    examples: [
      'wellhead endpoint rollback logs.all',
      'wellhead endpoint rollback logs.all 2 --note "Too slow"',
    ],
    request: async (client, name: string, version: number | undefined, options: RollbackOptions) => {
      const [current, before] = await versionsOf(name, client)
      const restored = version ?? before?.version
      if (!current || restored === undefined) throw new CommandFailure(`${name} has no older version.`)
      const note = options.note ?? `Rollback to version ${restored}`
      const query = { note, breaking: String(options.breaking ?? false) }
      const path = apiPath('endpoints', name, 'versions', restored, 'restore')
      const headers = { 'If-Match': `"${current.version}"` }
      const saved = await client.json<EndpointView>('POST', path, { query, headers })
      return { ...saved, restored }
    },
    print: ({ name, version, restored }) =>
      io.stdout.write(`Restored version ${restored} of ${name} as version ${version}.\n`),
  })
}

async function printEndpoint(io: CommandIo, { query, parameters, columns, ...fields }: EndpointView) {
  await printFields(io.stdout, Object.entries(fields))
  await io.stdout.write('\n')
  const declared = Object.entries(parameters).map(([parameter, one]) => ({ parameter, ...one }))
  await printList(io, ['parameter', 'type', 'required', 'enum', 'default'], declared, 'No parameters.')
  await io.stdout.write('\n')
  await printList(io, ['name', 'type'], columns, 'No columns.')
  await io.stdout.write(`\n${query}\n`)
}

const updatedBy: ListColumn<EndpointView> = {
  title: 'UPDATED BY',
  of: ({ updated_by, updated_by_name }) => updated_by_name ?? updated_by,
}

function versionsOf(name: string, client: ServiceClient): Promise<EndpointView[]> {
  return client.json('GET', apiPath('endpoints', name, 'versions'))
}

function addEndpointRun(endpoint: Command, io: CommandIo): void {
  const run = addServiceCommand(endpoint, 'run', 'send a request to an endpoint and show the rows')
    .argument('<name>', 'name or id')
    .argument('[name=value...]', 'parameters; repeat a name for a list', collectValues)
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
    request: async (
      client,
      name: string,
      parameters: Record<string, string | string[]>,
      options: RunOptions,
    ) => {
      const path = apiPath('endpoints', 'query', name)
      const json = {
        ...parameters,
        _strict: options.lenient ? undefined : '1',
        _version: options.version?.toString(),
      }
      if (options.explain) {
        const explained = { json: { ...json, _explain: 'true' } }
        return printJson(io, await client.json('POST', path, explained))
      }
      const headers = options.fresh ? { 'Cache-Control': 'no-cache' } : {}
      await showRows(options, client, (control) =>
        client.request('POST', path, { json: { ...json, ...control }, headers }),
      )
    },
  })
}

function addEndpointNew(endpoint: Command, io: CommandIo): void {
  const command = endpoint
    .command('new')
    .description('write the files of a new endpoint and its test to a workspace; needs no service')
    .argument('<name>', 'name of the endpoint')
    .argument('[directory]', 'workspace directory', '.')
    .requiredOption('--query <sql>', 'SQL of the endpoint; "-" reads standard input')
    .option(
      '-p, --parameter <name=value>',
      'example of a parameter of the SQL, which also sets its type; repeatable',
      collectPair,
    )
    .option('--published', 'let tokens with a project call it')
    .action(async (name: string, directory: string, options: NewOptions) => {
      // Loaded on use: it needs all that checks files, and the other commands only send requests.
      const [{ loadKinds }, { writeEndpoint }] = await Promise.all([
        import('../../kinds.ts'),
        import('../workspace/new-files.ts'),
      ])
      await loadKinds()
      await writeEndpoint(name, directory, options, io)
    })
  addExamples(command, 'wellhead endpoint new paths.slowest --query - -p hours=24 < slowest.sql')
}
