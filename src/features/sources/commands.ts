import { type Command, InvalidArgumentError } from 'commander'
import {
  addExamples,
  addServiceAction,
  addServiceCommand,
  collect,
  durationSeconds,
} from '../../cli/kit/command.ts'
import { type CommandIo, usageFailure } from '../../cli/kit/command-io.ts'
import { definitionCommands } from '../../cli/kit/definition-commands.ts'
import { type ListColumn, printFields, printList } from '../../cli/kit/output/print.ts'
import { apiPath } from '../../cli/kit/service-client.ts'
import type { Source, TypedColumn } from '../../core/catalog/source.ts'
import type { SourcePath } from '../../core/search/seen-paths.ts'

interface SourceOptions {
  /** In days. */
  retention?: number
  /** Path of the project in metadata. */
  project?: string
  column?: TypedColumn[]
  removeColumn?: string[]
  published?: boolean
  breaking?: true
}

const oneDay = 86_400
const readRetention = durationSeconds(oneDay, 3650 * oneDay)
const retentionDays = (value: string) => readRetention(value) / oneDay

const columnHelp =
  'store a metadata path in its own column; append ",number" for numbers, ",searched" for an index; repeatable'

const pathColumns: readonly ListColumn<SourcePath>[] = [
  'path',
  'types',
  'entries',
  'sampled',
  'column',
  { title: 'EXAMPLES', of: ({ examples }) => examples.join(', ').slice(0, 60) },
]

const schemaHelp = `
ENTRIES is how many of the SAMPLED entries have the path. COLUMN is the typed column of the path: SQL reads the path
from it, which is faster.
`

export function defineSource(source: Command, io: CommandIo): void {
  addExamples(source, 'wellhead source list', 'wellhead source update audit_logs --retention 365d')

  const sources = definitionCommands<Source>(source, io, {
    noun: 'source',
    folder: 'sources',
    reference: 'source name',
  })

  sources.list({
    columns: ['name', 'retention_days', 'aliases', 'description'],
    examples: ['wellhead source list'],
  })

  const schema = sources
    .command('schema', 'list the metadata paths of the newest entries')
    .addHelpText('after', schemaHelp)
  addServiceAction(schema, io, {
    examples: ['wellhead source schema edge_logs'],
    request: (client, name: string) => client.json<SourcePath[]>('GET', apiPath('sources', name, 'schema')),
    print: async (paths) => {
      await printList(io, pathColumns, paths, 'The source has no entries with metadata.')
      const unlisted = (paths[0]?.paths ?? 0) - paths.filter(({ entries }) => entries > 0).length
      if (unlisted > 0) await io.stderr.write(`${unlisted} less frequent paths are not listed.\n`)
    },
  })

  sources.show({ example: 'wellhead source show edge_logs', print: (shown) => printSource(io, shown) })

  addUpdate(source, io)

  const init = source
    .command('init')
    .description('write a source file with columns proposed from entries; needs no service')
    .argument('<name>', 'lowercase letters, digits and _')
    .argument('[directory]', 'workspace directory', '.')
    .requiredOption('--from <file>', 'entries as NDJSON, plain or gzip; "-" reads standard input')
    .action(async (name: string, directory: string, options: { from: string }) =>
      // Loaded on use, as for endpoints.
      (await import('./new-source.ts')).writeSource(name, directory, options, io),
    )
  addExamples(init, 'wellhead source init shop_api --from sample.ndjson')

  sources.delete({
    contents: 'entries',
    example: 'wellhead source delete audit_logs --yes',
    repeatsName: true,
  })
}

function addUpdate(source: Command, io: CommandIo): void {
  const update = addServiceCommand(source, 'update', 'update a source')
    .argument('<name>', 'source name')
    .option('--retention <duration>', 'how long entries are kept, such as 90d', retentionDays)
    .option('--project <path>', 'path of the project in entries without a field project')
    .option('--column <name=path>', columnHelp, collectColumn)
    .option('--remove-column <name>', 'remove a typed column; repeatable', collect)
    .option('--published', 'let tenants with the scope search read their entries')
    .option('--no-published', 'hide the source from tenants')
    .option('--breaking', 'make changes that break queries or delete entries')
  addServiceAction(update, io, {
    examples: [
      'wellhead source update web_logs --retention 30d',
      'wellhead source update web_logs --column country=request.cf.country --remove-column status',
    ],
    request: async (client, name: string, options: SourceOptions) => {
      const { columns: current } = await client.json<Source>('GET', apiPath('sources', name))
      const { column: added = [], removeColumn: removed = [] } = options
      const unknown = removed.filter((column) => current.every((each) => each.name !== column))
      if (unknown.length > 0) throw usageFailure(`${name} has no typed column ${unknown.join(', ')}.`)
      const replaced = new Set([...removed, ...added.map((each) => each.name)])
      const json = {
        retention_days: options.retention,
        project: options.project,
        published: options.published,
        ...(replaced.size > 0 && {
          columns: [...current.filter((each) => !replaced.has(each.name)), ...added],
        }),
      }
      const query = options.breaking ? { breaking: 'true' } : {}
      return client.json<Source>('PATCH', apiPath('sources', name), { json, query })
    },
    print: (updated) => printSource(io, updated),
  })
}

function collectColumn(value: string, before: readonly TypedColumn[] | undefined): TypedColumn[] {
  const [field = '', ...words] = value.split(',')
  const [name = '', path = ''] = field.split('=')
  const known = words.every((word) => word === 'number' || word === 'text' || word === 'searched')
  if (name === '' || path === '' || !known) {
    throw new InvalidArgumentError(`"${value}" must be name=path, optionally with ",number" or ",searched".`)
  }
  const type = words.includes('number') ? 'number' : 'text'
  return [...(before ?? []), { name, path, type, searched: words.includes('searched') }]
}

function printSource(io: CommandIo, source: Source): Promise<void> {
  const typed = source.columns.map(
    ({ name, path, type, searched }) => `${name}=${path},${type}${searched ? ',searched' : ''}`,
  )
  return printFields(io.stdout, Object.entries({ ...source, columns: typed }))
}
