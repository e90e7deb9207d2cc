import { type Command, InvalidArgumentError } from 'commander'
import type { Source, TypedColumn } from '../../catalog/source.ts'
import type { SourcePath } from '../../sources/source-admin.ts'
import { collect, durationDays, wholeNumber } from '../arguments.ts'
import { usageFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { confirm } from '../confirm.ts'
import { addExamples } from '../help.ts'
import { type ListColumn, printFields, printList, shortTime } from '../output/print.ts'
import { listOf, objectWith } from '../response-reader.ts'
import { sourcePath } from '../service-client.ts'
import { addServiceAction, addServiceCommand } from '../service-command.ts'

interface SourceOptions {
  description?: string
  alias?: string[]
  /** In days. */
  retention?: number
  retentionDays?: number
  column?: TypedColumn[]
  removeColumn?: string[]
}

const retentionDays = durationDays(1, 3650)

const columnHelp =
  'store a metadata path in its own column; append ",number" for numbers, ",searched" for an index; repeatable'

const sourceFields = ['name', 'aliases', 'retention_days', 'columns'] as const
const sourceResponse = objectWith<Source>(...sourceFields)
const sourceList = listOf<Source>(...sourceFields)

const columns: readonly ListColumn<Source>[] = [
  { title: 'NAME', of: ({ name }) => name },
  { title: 'RETENTION', align: 'right', of: ({ retention_days }) => `${retention_days}d` },
  { title: 'ALIASES', of: ({ aliases }) => aliases.join(' ') || null },
  { title: 'DESCRIPTION', of: ({ description }) => description || null },
]

/** Older services send no examples. */
type PathList = (Omit<SourcePath, 'examples'> & { examples?: string[] })[]

const pathList = listOf<PathList[number]>('path', 'types', 'entries', 'sampled', 'column')

/** The console uses the same words. */
const kinds: readonly (readonly [RegExp, string])[] = [
  [/^(?:LowCardinality\()?(?:Nullable\()?String/, 'text'],
  [/^(?:Nullable\()?(?:U?Int|Float|Decimal)/, 'number'],
  [/^(?:Nullable\()?Bool/, 'true/false'],
  [/^(?:Array|Tuple)/, 'list'],
  [/^(?:JSON|Object|Map)/, 'object'],
]

const pathColumns: readonly ListColumn<PathList[number]>[] = [
  { title: 'PATH', of: ({ path }) => path },
  { title: 'KINDS', of: ({ types }) => kindsOf(types).join(', ') || null },
  { title: 'SHARE', align: 'right', of: ({ entries, sampled }) => shareOf(entries, sampled) },
  { title: 'COLUMN', of: ({ column }) => column },
]

const schemaHelp = `
SHARE is the share of the sampled entries that have the path. COLUMN is the typed column of the path: SQL reads the path
from it, which is faster.
`

export function defineSource(source: Command, io: CommandIo): void {
  addExamples(source, 'wellhead source list', 'wellhead source create audit_logs --retention 365d')

  const list = addServiceCommand(source, 'list', 'list sources')
  addServiceAction(list, io, {
    examples: ['wellhead source list'],
    request: (client) => client.json('GET', '/api/sources', sourceList),
    print: (sources) => printList(io, columns, sources, 'No sources.'),
  })

  addSourceSchemaCommand(source, io)

  const show = addServiceCommand(source, 'show', 'show a source')
    .argument('<name>', 'source name')
    .option('--schema', 'same as wellhead source schema')
  addServiceAction(show, io, {
    examples: ['wellhead source show edge_logs'],
    request: (client, name: string, { schema }: { schema?: true }): Promise<PathList | Source> =>
      schema
        ? client.json('GET', `${sourcePath(name)}/schema`, pathList)
        : client.json('GET', sourcePath(name), sourceResponse),
    print: (found) => (Array.isArray(found) ? printPaths(io, found) : printSource(io, found)),
  })

  addCreate(source, io)
  addUpdate(source, io)

  const remove = addServiceCommand(source, 'delete', 'delete a source and its entries')
    .argument('<name>', 'source name')
    .option('--yes', 'do not ask for confirmation')
  addServiceAction(remove, io, {
    examples: ['wellhead source delete audit_logs --yes'],
    request: async (client, reference: string, { yes }: { yes?: true }) => {
      const { name } = await client.json('GET', sourcePath(reference), sourceResponse)
      await confirm(io, `The source ${name} and all its entries will be deleted.`, yes)
      await client.request('DELETE', sourcePath(name), { query: { confirm: name } })
      await io.stderr.write(`Deleted ${name}.\n`)
    },
  })
}

function addCreate(source: Command, io: CommandIo): void {
  const create = addServiceCommand(source, 'create', 'create a source')
    .argument('<name>', 'lowercase letters, digits and _')
    .option('--description <text>', 'what the source contains')
    .option('--alias <name>', 'another name of the source; repeatable', collect)
    .option('--retention <duration>', 'how long entries are kept, such as 90d (default: 90d)', retentionDays)
    .option('--retention-days <n>', 'same as --retention, as a number of days', wholeNumber(1, 3650))
    .option('--column <name=path>', columnHelp, collectColumn)
  addServiceAction(create, io, {
    examples: [
      'wellhead source create audit_logs --retention 365d',
      'wellhead source create web_logs --column request_url=request.url,searched --column status=status,number',
    ],
    request: (client, name: string, options: SourceOptions) => {
      const json = {
        name,
        description: options.description,
        aliases: options.alias,
        retention_days: retentionOf(options),
        columns: options.column,
      }
      return client.json('POST', '/api/sources', sourceResponse, { json })
    },
    print: (created) => printSource(io, created),
  })
}

function addUpdate(source: Command, io: CommandIo): void {
  const update = addServiceCommand(source, 'update', 'update a source')
    .argument('<name>', 'source name')
    .option('--retention <duration>', 'how long entries are kept, such as 90d', retentionDays)
    .option('--retention-days <n>', 'same as --retention, as a number of days', wholeNumber(1, 3650))
    .option('--column <name=path>', columnHelp, collectColumn)
    .option('--remove-column <name>', 'remove a typed column; repeatable', collect)
  addServiceAction(update, io, {
    examples: [
      'wellhead source update web_logs --retention 30d',
      'wellhead source update web_logs --column country=request.cf.country --remove-column status',
    ],
    request: async (client, name: string, options: SourceOptions) => {
      const { columns: current } = await client.json('GET', sourcePath(name), sourceResponse)
      const { column: added = [], removeColumn: removed = [] } = options
      const unknown = removed.filter((column) => current.every((each) => each.name !== column))
      if (unknown.length > 0) throw usageFailure(`${name} has no typed column ${unknown.join(', ')}.`)
      const replaced = new Set([...removed, ...added.map((each) => each.name)])
      const json = {
        retention_days: retentionOf(options),
        ...(replaced.size > 0 && {
          columns: [...current.filter((each) => !replaced.has(each.name)), ...added],
        }),
      }
      return client.json('PATCH', sourcePath(name), sourceResponse, { json })
    },
    print: (updated) => printSource(io, updated),
  })
}

function retentionOf({ retention, retentionDays }: SourceOptions): number | undefined {
  if (retention !== undefined && retentionDays !== undefined) {
    throw usageFailure('Use --retention or --retention-days, not both.')
  }
  return retention ?? retentionDays
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
  return printFields(io.stdout, [
    ['name', source.name],
    ['id', source.id],
    ['description', source.description || null],
    ['aliases', source.aliases.join(' ') || null],
    ['retention', `${source.retention_days}d`],
    ['typed columns', typed.join(' ') || null],
    ['updated', shortTime(source.updated_at)],
  ])
}

function addSourceSchemaCommand(source: Command, io: CommandIo): void {
  const schema = addServiceCommand(source, 'schema', 'list the metadata paths of the newest entries')
    .argument('<name>', 'source name')
    .addHelpText('after', schemaHelp)
  addServiceAction(schema, io, {
    examples: ['wellhead source schema edge_logs'],
    request: (client, name: string) => client.json('GET', `${sourcePath(name)}/schema`, pathList),
    print: (paths) => printPaths(io, paths),
  })
}

async function printPaths(io: CommandIo, paths: PathList): Promise<void> {
  const { cutToWidth } = await import('../output/table.ts')
  const exampleColumn: ListColumn<PathList[number]> = {
    title: 'EXAMPLES',
    of: ({ examples }) => examples?.map((text) => cutToWidth(text, 30)).join(', ') || null,
  }
  const hasExamples = paths.some(({ examples }) => examples !== undefined)
  const shown = hasExamples ? [...pathColumns, exampleColumn] : pathColumns
  return printList(io, shown, paths, 'The source has no entries with metadata.')
}

/** Plain words for types of the engine, each word once. */
function kindsOf(types: readonly string[]): string[] {
  return [...new Set(types.map((type) => kinds.find(([pattern]) => pattern.test(type))?.[1] ?? type))]
}

/** Rounded so that only all is 100 % and only nothing is 0 %. */
function shareOf(entries: number, sampled: number): string | null {
  if (sampled === 0) return null
  const percent = Math.floor((entries / sampled) * 100)
  return percent === 0 && entries > 0 ? '< 1 %' : `${percent} %`
}
