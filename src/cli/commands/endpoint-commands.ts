import type { Command } from 'commander'
import { z } from 'zod'
import { wholeNumber } from '../arguments.ts'
import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { confirm } from '../confirm.ts'
import type { ServiceChoice } from '../find-service.ts'
import { addExamples } from '../help.ts'
import { type ListColumn, printFields, printJson, printList, shortTime } from '../output/print.ts'
import { type EndpointAnswer, endpointAnswer } from '../service-answers.ts'
import { addServiceOptions, connect } from '../service-client.ts'
import { addEndpointRun } from './endpoint-run.ts'

const seconds = (value: number | null) => (value === null ? null : `${value} s`)

const columns: readonly ListColumn<EndpointAnswer>[] = [
  { title: 'NAME', of: ({ name }) => name },
  { title: 'VERSION', align: 'right', of: ({ version }) => version },
  { title: 'CACHE', align: 'right', of: ({ cache_seconds }) => seconds(cache_seconds) },
  { title: 'WARM', align: 'right', of: ({ warm_seconds }) => seconds(warm_seconds) },
  { title: 'UPDATED', of: ({ updated_at }) => shortTime(updated_at) },
  { title: 'DESCRIPTION', of: ({ description }) => description || null },
]

const versionColumns: readonly ListColumn<EndpointAnswer>[] = [
  { title: 'VERSION', align: 'right', of: ({ version }) => version },
  { title: 'CHANGED', of: ({ updated_at }) => shortTime(updated_at) },
  { title: 'BY', of: ({ updated_by }) => updated_by },
  { title: 'NAME', of: ({ name }) => name },
]

const anyVersion = wholeNumber(1, 999_999_999)

export function addEndpointCommands(program: Command, io: CommandIo): void {
  const endpoint = program.command('endpoint').description('list, show, run, restore and delete endpoints')
  addExamples(
    endpoint,
    'wellhead endpoint list',
    'wellhead endpoint run usage.api-counts project=acme interval=daily',
  )

  const list = addServiceOptions(endpoint.command('list').description('list endpoints'))
  list.option('--json', 'as JSON').action(async (options: ServiceChoice & { json?: true }) => {
    const endpoints = await connect(options, io).json('GET', '/api/endpoints', z.array(endpointAnswer))
    if (options.json) return printJson(io, endpoints)
    return printList(io, columns, endpoints, 'There are no endpoints.')
  })
  addExamples(list, 'wellhead endpoint list')

  addShow(endpoint, io)
  addEndpointRun(endpoint, io)

  const versions = addServiceOptions(
    endpoint.command('versions').description('list the versions of an endpoint'),
  )
  versions
    .argument('<name>', 'name or id')
    .option('--json', 'as JSON')
    .action(async (name: string, options: ServiceChoice & { json?: true }) => {
      const all = await versionsOf(name, options, io)
      return options.json ? printJson(io, all) : printList(io, versionColumns, all, 'There are none.')
    })
  addExamples(versions, 'wellhead endpoint versions logs.all')

  const restore = addServiceOptions(
    endpoint.command('restore').description('make an older version the newest again'),
  )
  restore
    .argument('<name>', 'name or id')
    .argument('<version>', 'number of the version', anyVersion)
    .option('--json', 'as JSON')
    .action(async (name: string, version: number, options: ServiceChoice & { json?: true }) => {
      const path = `${pathOf(name)}/versions/${version}/restore`
      const restored = await connect(options, io).json('POST', path, endpointAnswer)
      if (options.json) return printJson(io, restored)
      return io.stderr.write(
        `Version ${version} of ${restored.name} is in use again, as version ${restored.version}.\n`,
      )
    })
  addExamples(restore, 'wellhead endpoint restore logs.all 3')

  const remove = addServiceOptions(endpoint.command('delete').description('delete an endpoint'))
  remove
    .argument('<name>', 'name or id')
    .option('--yes', 'do not ask')
    .action(async (given: string, options: ServiceChoice & { yes?: true }) => {
      const client = connect(options, io)
      const { name, version } = await client.json('GET', pathOf(given), endpointAnswer)
      await confirm(io, `The endpoint ${name} is deleted; its callers get 404 from now on.`, options.yes)
      // What somebody changed since it was looked at is not what was meant.
      await client.request('DELETE', pathOf(given), { headers: { 'If-Match': `"${version}"` } })
      await io.stderr.write(`Deleted ${name}.\n`)
    })
  addExamples(remove, 'wellhead endpoint delete top.paths --yes')
}

function addShow(endpoint: Command, io: CommandIo): void {
  const show = addServiceOptions(endpoint.command('show').description('show an endpoint'))
  show
    .argument('<name>', 'name or id')
    .option('--version <n>', 'an older version', anyVersion)
    .option('--sql', 'its SQL alone')
    .option('--json', 'as JSON')
    .action(async (name: string, options: ServiceChoice & { version?: number; sql?: true; json?: true }) => {
      const { version } = options
      const found =
        version === undefined
          ? await connect(options, io).json('GET', pathOf(name), endpointAnswer)
          : (await versionsOf(name, options, io)).find((one) => one.version === version)
      if (!found) throw new CommandFailure(`${name} has no version ${version}.`)
      if (options.sql) return io.stdout.write(`${found.query}\n`)
      return options.json ? printJson(io, found) : printEndpoint(io, found)
    })
  addExamples(show, 'wellhead endpoint show logs.all', 'wellhead endpoint show logs.all --version 2 --sql')
}

async function printEndpoint(io: CommandIo, found: EndpointAnswer): Promise<void> {
  await printFields(io.stdout, [
    ['name', found.name],
    ['id', found.id],
    ['description', found.description || null],
    ['version', found.version],
    ['changed', `${shortTime(found.updated_at)} by ${found.updated_by}`],
    ['max rows', found.max_rows],
    ['cache', seconds(found.cache_seconds)],
    ['warm', seconds(found.warm_seconds)],
    ['sandbox', found.sandbox ? 'yes' : 'no'],
  ])
  const parameters = Object.entries(found.parameters)
  await io.stdout.write('\n')
  await printList(
    io,
    [
      { title: 'PARAMETER', of: ([name]) => name },
      { title: 'TYPE', of: ([, { type }]) => type },
      { title: 'REQUIRED', of: ([, { required }]) => (required ? 'yes' : 'no') },
      { title: 'ALLOWED', of: ([, declaration]) => declaration.enum?.join(' ') },
      { title: 'DEFAULT', of: ([, declaration]) => declaration.default?.toString() },
    ],
    parameters,
    'It has no parameters.',
  )
  await io.stdout.write('\n')
  const resultColumns: readonly ListColumn<{ name: string; type: string }>[] = [
    { title: 'COLUMN', of: ({ name }) => name },
    { title: 'TYPE', of: ({ type }) => type },
  ]
  await printList(io, resultColumns, found.columns, 'It has no columns.')
  await io.stdout.write(`\n${found.query}\n`)
}

function versionsOf(name: string, choice: ServiceChoice, io: CommandIo): Promise<EndpointAnswer[]> {
  return connect(choice, io).json('GET', `${pathOf(name)}/versions`, z.array(endpointAnswer))
}

function pathOf(name: string): string {
  return `/api/endpoints/${encodeURIComponent(name)}`
}
