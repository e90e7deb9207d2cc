import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { builtInSources } from '../../built-in-sources.ts'
import type { NewSource } from '../../core/catalog/source.ts'
import { definitionShape, isReserved } from '../../core/endpoints/definition/definition.ts'
import { newEndpointFiles, parametersOf } from '../../workspace/authoring/new-endpoint.ts'
import { newWorkspaceFiles, type Template, templates } from '../../workspace/authoring/new-workspace.ts'
import { readSql, valuesOf } from '../commands/sql-command.ts'
import { addExamples } from '../kit/command.ts'
import { CommandFailure, type CommandIo, usageFailure } from '../kit/command-io.ts'
import { writeNewFiles } from '../kit/write-new-files.ts'
import { openWorkspace } from './files.ts'

export function defineInit(init: Command, io: CommandIo): void {
  init
    .argument('[directory]', 'new workspace directory', '.')
    .addOption(
      new Option('--template <name>', 'what the first endpoints read').choices(templates).default('supabase'),
    )
    .action((directory: string, options: { template: Template }) => createWorkspace(directory, options, io))
  addExamples(init, 'wellhead init', 'wellhead init shop --template nginx')
}

export interface NewOptions {
  query: string
  parameter?: Record<string, string>
  published?: true
}

export async function writeEndpoint(
  name: string,
  shown: string,
  options: NewOptions,
  io: CommandIo,
): Promise<void> {
  const values = valuesOf(options.parameter ?? {})
  refuseName(name)
  const { directory, fixtures, definitions } = openWorkspace(shown, io)
  const query = await readSql(options.query, undefined, io)
  if (!definitionShape.shape.query.safeParse(query).success) throw usageFailure('The query is empty.')
  const used = parametersOf(query)
  const unused = Object.keys(values).find((parameter) => !used.includes(parameter))
  if (unused !== undefined) throw usageFailure(`The query does not use @${unused}.`)
  const nowMs = io.clock.now()
  const own = definitions.filter(({ kind }) => kind.name === 'source').map(({ fields }) => fields)
  const known = [...(own as unknown as NewSource[]), ...builtInSources]
  const columnsOf = (source: string) => known.find((each) => each.name === source)?.columns
  const files = Object.entries(
    newEndpointFiles(
      { name, id: randomUUID(), query, values, nowMs, published: options.published },
      fixtures,
      columnsOf,
    ),
  )
  await writeNewFiles(directory, files, io)
  const there = shown === '.' ? '' : `cd ${shown} && `
  const warm = `To keep its results warm, set cache: 15m and warm: 5m in endpoints/${name}.sql.`
  await io.stdout.write(`${warm}\nTry it: ${there}wellhead check --strict && wellhead test --update\n`)
}

function refuseName(name: string): void {
  const parsed = definitionShape.shape.name.safeParse(name)
  if (!parsed.success) throw usageFailure(`The name ${parsed.error.issues[0]?.message}.`)
  if (isReserved(name)) {
    throw usageFailure('Names that start with "wellhead." are reserved for endpoints of the service.')
  }
}

async function createWorkspace(
  shown: string,
  { template }: { template: Template },
  io: CommandIo,
): Promise<void> {
  const directory = resolve(io.cwd, shown)
  const exists = (file: string) => existsSync(join(directory, file))
  // An existing repository keeps its own README.md and .gitignore.
  const files = Object.entries(newWorkspaceFiles(template, randomUUID)).filter(
    ([file]) => file.includes('/') || !exists(file),
  )
  const used = [...new Set(files.map(([file]) => file.split('/')[0] as string))].filter(
    (name) => exists(name) && readdirSync(join(directory, name)).length > 0,
  )
  if (used.length > 0) {
    throw new CommandFailure(`${directory} already contains ${used.join(', ')}; nothing was written.`)
  }
  await writeNewFiles(directory, files, io)
  const there = shown === '.' ? '' : `cd ${shown} && `
  const next = template === 'empty' ? 'wellhead source init <name> --from <file of entries>' : 'wellhead test'
  await io.stdout.write(`Try it: ${there}${next}\n`)
}
