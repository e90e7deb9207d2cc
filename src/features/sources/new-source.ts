import { CommandFailure, type CommandIo, usageFailure } from '../../cli/kit/command-io.ts'
import { findWorkspace } from '../../cli/kit/find-workspace.ts'
import { findInputs, type LogInput, readEntries, readUnpacked } from '../../cli/kit/logs/log-input.ts'
import { plural, visible } from '../../cli/kit/output/format.ts'
import { writeNewFiles } from '../../cli/kit/write-new-files.ts'
import { grouped } from '../../core/base/grouped.ts'
import { isBuiltIn } from '../../core/catalog/built-in-sources.ts'
import { newSourceShape, sourceName, type TypedColumn } from '../../core/catalog/source.ts'
import { readEntry } from '../../core/intake/entry-batch.ts'
import { leavesOf } from '../../core/search/seen-paths.ts'
import { columnNameOf } from '../../shared/column-names.ts'
import { isOwnerPath } from '../../shared/owner-paths.ts'
import { shownPath } from '../../shared/path-text.ts'
import { sources } from './source-kind.ts'

const maxSample = 10_000

interface SampleEntry {
  project: string
  metadata: object
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
  const directory = findWorkspace(shown, io)
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

/** A column for a path that fewer entries have would mostly be empty. */
const minShare = 0.1
const maxExampleLength = 40
/** Longer text is read for one entry at a time, where a column does not help. */
const maxTextLength = 200

/** The file of a source whose columns hold what many entries have, and the path that probably has the project. */
export function newSourceFile(name: string, entries: readonly { metadata: object }[], from: string) {
  const leaves = entries.flatMap(({ metadata }) => [...leavesOf(metadata)])
  const scalars = leaves.filter(([, value]) => value !== null && !Array.isArray(value))
  const seen = grouped(scalars, ([path]) => path)
  const columns: TypedColumn[] = []
  for (const [path, values] of seen) {
    const isShort = values.every(([, value]) => String(value).length <= maxTextLength)
    const type = values.every(([, value]) => typeof value === 'number') ? 'number' : 'text'
    const column = { name: columnNameOf(path), path, type, searched: false } as const
    const isPossible = newSourceShape.shape.columns.safeParse([...columns, column]).success
    if (values.length >= entries.length * minShare && isShort && isPossible) columns.push(column)
  }
  const noteOf = ({ path }: TypedColumn) => {
    const found = seen.get(path) ?? []
    const text = JSON.stringify(found[0]?.[1]).slice(0, maxExampleLength).toWellFormed()
    return `# ${Math.round((100 * found.length) / entries.length)} % of the entries, such as ${text}`
  }
  const notes = columns.map(noteOf)
  const content = sources.file
    .write({ ...newSourceShape.parse({ name }), columns })
    .replace(/^ +- .*$/gm, (line) => `${line} ${notes.shift()}`)
  const head = `# Proposed from ${entries.length} entries of ${JSON.stringify(from)}. Remove columns that queries seldom read:
# a column only makes reading its path faster. SQL reads every path as metadata.<path>.
`
  const [project] = [...seen.keys()]
    .filter(isOwnerPath)
    .sort((one, other) => (seen.get(other)?.length ?? 0) - (seen.get(one)?.length ?? 0))
  return { file: `sources/${name}.yaml`, columns: columns.length, content: head + content, project }
}
