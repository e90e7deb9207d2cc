import { type Command, InvalidArgumentError } from 'commander'
import { z } from 'zod'
import type { TypedColumn } from '../../catalog/source.ts'
import { collect, wholeNumber } from '../arguments.ts'
import { usageFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { confirm } from '../confirm.ts'
import type { ServiceChoice } from '../find-service.ts'
import { addExamples } from '../help.ts'
import { type ListColumn, printFields, printJson, printList, shortTime } from '../output/print.ts'
import { type SourceAnswer, sourceAnswer, sourcePathAnswer } from '../service-answers.ts'
import { addServiceOptions, connect } from '../service-client.ts'

interface CreateOptions extends ServiceChoice {
  description?: string
  alias?: string[]
  retentionDays?: number
  hotField?: TypedColumn[]
  json?: true
}

interface UpdateOptions extends ServiceChoice {
  retentionDays?: number
  hotField?: TypedColumn[]
  removeHotField?: string[]
  json?: true
}

const hotFieldHelp =
  'keeps a path of metadata as a column; ",number" or ",searched" behind it say more; may be given several times'

const columns: readonly ListColumn<SourceAnswer>[] = [
  { title: 'NAME', of: ({ name }) => name },
  { title: 'DAYS', align: 'right', of: ({ retention_days }) => retention_days },
  { title: 'ALSO KNOWN AS', of: ({ aliases }) => aliases.join(' ') || null },
  { title: 'DESCRIPTION', of: ({ description }) => description || null },
]

const pathColumns: readonly ListColumn<z.output<typeof sourcePathAnswer>>[] = [
  { title: 'PATH', of: ({ path }) => path },
  { title: 'ENTRIES', align: 'right', of: ({ entries }) => entries },
  { title: 'COLUMN', of: ({ column }) => column },
  { title: 'TYPES', of: ({ types }) => types.join(' ') },
]

export function addSourceCommands(program: Command, io: CommandIo): void {
  const source = program.command('source').description('list, show, make, change and delete sources of logs')
  addExamples(source, 'wellhead source list', 'wellhead source create audit_logs --retention-days 365')

  const list = addServiceOptions(source.command('list').description('list sources'))
  list.option('--json', 'as JSON').action(async (options: ServiceChoice & { json?: true }) => {
    const sources = await connect(options, io).json('GET', '/api/sources', z.array(sourceAnswer))
    return options.json ? printJson(io, sources) : printList(io, columns, sources, 'There are no sources.')
  })
  addExamples(list, 'wellhead source list')

  const show = addServiceOptions(source.command('show').description('show a source'))
  show
    .argument('<name>', 'name of the source')
    .option('--schema', 'paths and types of metadata in its newest entries')
    .option('--json', 'as JSON')
    .action(async (name: string, options: ServiceChoice & { schema?: true; json?: true }) => {
      const client = connect(options, io)
      if (options.schema) {
        const paths = await client.json('GET', `${pathOf(name)}/schema`, z.array(sourcePathAnswer))
        if (options.json) return printJson(io, paths)
        return printList(io, pathColumns, paths, 'Its entries have no metadata.')
      }
      const found = await client.json('GET', pathOf(name), sourceAnswer)
      return options.json ? printJson(io, found) : printSource(io, found)
    })
  addExamples(show, 'wellhead source show edge_logs', 'wellhead source show edge_logs --schema')

  addCreate(source, io)
  addUpdate(source, io)

  const remove = addServiceOptions(source.command('delete').description('delete a source with its entries'))
  remove
    .argument('<name>', 'name of the source')
    .option('--yes', 'do not ask')
    .action(async (given: string, options: ServiceChoice & { yes?: true }) => {
      const client = connect(options, io)
      const { name } = await client.json('GET', pathOf(given), sourceAnswer)
      await confirm(io, `The source ${name} and all of its entries are deleted.`, options.yes)
      await client.request('DELETE', pathOf(name), { query: { confirm: name } })
      await io.stderr.write(`Deleted ${name}.\n`)
    })
  addExamples(remove, 'wellhead source delete audit_logs --yes')
}

function addCreate(source: Command, io: CommandIo): void {
  const create = addServiceOptions(source.command('create').description('make a source'))
  create
    .argument('<name>', 'small letters, digits and _')
    .option('--description <text>', 'what it holds')
    .option('--alias <name>', 'another name that senders know it by; may be given several times', collect)
    .option('--retention-days <n>', 'entries live so long (default: 90)', wholeNumber(1, 3650))
    .option('--hot-field <column=path>', hotFieldHelp, collectHotField)
    .option('--json', 'as JSON')
    .action(async (name: string, options: CreateOptions) => {
      const json = {
        name,
        description: options.description,
        aliases: options.alias,
        retention_days: options.retentionDays,
        hot_fields: options.hotField,
      }
      const made = await connect(options, io).json('POST', '/api/sources', sourceAnswer, { json })
      return options.json ? printJson(io, made) : printSource(io, made)
    })
  addExamples(
    create,
    'wellhead source create audit_logs --retention-days 365',
    'wellhead source create web_logs --hot-field request_url=request.url,searched --hot-field status=status,number',
  )
}

function addUpdate(source: Command, io: CommandIo): void {
  const update = addServiceOptions(source.command('update').description('change a source'))
  update
    .argument('<name>', 'name of the source')
    .option('--retention-days <n>', 'how long entries are kept', wholeNumber(1, 3650))
    .option('--hot-field <column=path>', hotFieldHelp, collectHotField)
    .option(
      '--remove-hot-field <column>',
      'removes the column of a hot field; may be given several times',
      collect,
    )
    .option('--json', 'as JSON')
    .action(async (name: string, options: UpdateOptions) => {
      const client = connect(options, io)
      const { hot_fields: current } = await client.json('GET', pathOf(name), sourceAnswer)
      const { hotField: added = [], removeHotField: removed = [], retentionDays } = options
      const unknown = removed.filter((column) => current.every((field) => field.column !== column))
      if (unknown.length > 0) {
        throw usageFailure(`${name} has no hot field ${unknown.join(', ')}.`)
      }
      const replaced = new Set([...removed, ...added.map(({ column }) => column)])
      const json = {
        retention_days: retentionDays,
        ...(replaced.size > 0 && {
          hot_fields: [...current.filter(({ column }) => !replaced.has(column)), ...added],
        }),
      }
      const changed = await client.json('PATCH', pathOf(name), sourceAnswer, { json })
      return options.json ? printJson(io, changed) : printSource(io, changed)
    })
  addExamples(
    update,
    'wellhead source update web_logs --retention-days 30',
    'wellhead source update web_logs --hot-field country=request.cf.country --remove-hot-field status',
  )
}

function collectHotField(value: string, before: readonly TypedColumn[] | undefined): TypedColumn[] {
  const [field = '', ...words] = value.split(',')
  const [column = '', path = ''] = field.split('=')
  const known = words.every((word) => word === 'number' || word === 'text' || word === 'searched')
  if (column === '' || path === '' || !known) {
    throw new InvalidArgumentError(`"${value}" is not column=path, with ",number" or ",searched" behind it.`)
  }
  const type = words.includes('number') ? 'number' : 'text'
  return [...(before ?? []), { column, path, type, searched: words.includes('searched') }]
}

function printSource(io: CommandIo, source: SourceAnswer): Promise<void> {
  const hot = source.hot_fields.map(
    ({ column, path, type, searched }) => `${column}=${path},${type}${searched ? ',searched' : ''}`,
  )
  return printFields(io.stdout, [
    ['name', source.name],
    ['id', source.id],
    ['description', source.description || null],
    ['aliases', source.aliases.join(' ') || null],
    ['retention', `${source.retention_days} days`],
    ['hot fields', hot.join(' ') || null],
    ['updated', shortTime(source.updated_at)],
  ])
}

function pathOf(name: string): string {
  return `/api/sources/${encodeURIComponent(name)}`
}
