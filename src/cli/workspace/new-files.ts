import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { makeDirectory } from '../../core/base/files/data-directory.ts'
import { builtInSources, isBuiltIn } from '../../core/catalog/built-in-sources.ts'
import { type NewSource, sourceName } from '../../core/catalog/source.ts'
import { definitionShape, isReserved } from '../../core/endpoints/definition/definition.ts'
import { readEntry } from '../../core/intake/entry-batch.ts'
import { shownPath } from '../../shared/path-text.ts'
import { newEndpointFiles, newSourceFile, parametersOf } from '../../workspace/authoring/new-endpoint.ts'
import { newWorkspaceFiles, type Template, templates } from '../../workspace/authoring/new-workspace.ts'
import { readSql, valuesOf } from '../commands/sql-command.ts'
import { addExamples } from '../kit/command.ts'
import { CommandFailure, type CommandIo, usageFailure } from '../kit/command-io.ts'
import { findInputs, type LogInput, readEntries, readUnpacked } from '../kit/logs/log-input.ts'
import { plural, visible } from '../kit/output/format.ts'
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

const maxSample = 10_000

interface SampleEntry {
  project: string
  metadata: object
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

/** Proposes a source file from entries. Reading ends early, because more entries would hardly change it. */
export async function writeSource(
  name: string,
  shown: string,
  { from }: { from: string },
  io: CommandIo,
): Promise<void> {
  const parsed = sourceName.safeParse(name)
  if (!parsed.success) throw usageFailure(`The source name ${parsed.error.issues[0]?.message}.`)
  if (isBuiltIn(name)) throw usageFailure(`The source ${name} is built in. Choose another name.`)
  const { directory } = openWorkspace(shown, io)
  const entries = await readSample(from, io)
  const { file, content, columns, project: path } = newSourceFile(name, entries, from)
  await writeNewFiles(directory, [[file, content]], io)
  await io.stdout.write(
    `${plural(columns, 'column')} proposed from ${plural(entries.length, 'entry', 'entries')}.\n`,
  )
  if (entries.every(({ project }) => project === '')) {
    const advice =
      path === undefined
        ? `If another field has it, add its path to ${file}, such as project: customer.id`
        : `If ${shownPath(path)} is their project, add this line to ${file}: project: ${shownPath(path)}`
    await io.stdout.write(`The entries have no project, so no tenant will ever see them. ${advice}\n`)
  }
}

async function readSample(from: string, io: CommandIo): Promise<SampleEntry[]> {
  const [input] = (await findInputs([from], io)) as [LogInput]
  const entries: SampleEntry[] = []
  for await (const read of readEntries(
    input.name,
    readUnpacked(input, io.signal, () => {}),
  )) {
    const position = `${input.name}:${read.line}`
    const entry = 'reason' in read ? read : readEntry(read.text, { nowMs: io.clock.now() })
    if ('reason' in entry) throw new CommandFailure(`${position}: ${visible(entry.reason)}.`)
    entries.push(JSON.parse(entry.line.toString()) as SampleEntry)
    if (entries.length === maxSample) break
  }
  if (entries.length === 0) throw new CommandFailure(`${input.name} has no entries.`)
  return entries
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

async function writeNewFiles(directory: string, files: readonly [string, string][], io: CommandIo) {
  const existing = files.map(([file]) => file).filter((file) => existsSync(join(directory, file)))
  if (existing.length > 0) {
    const exist = existing.length === 1 ? 'exists' : 'exist'
    throw new CommandFailure(`${existing.join(' and ')} already ${exist}; nothing was written.`)
  }
  for (const [file, content] of files) {
    makeDirectory(dirname(join(directory, file)))
    // Never replaces a file, even one that was created in the meantime.
    writeFileSync(join(directory, file), content, { flag: 'wx' })
    await io.stdout.write(`${file}\n`)
  }
}
