import type { Command } from 'commander'
import type { SourcePath } from '../../sources/source-admin.ts'
import type { CommandIo } from '../command-io.ts'
import { type ListColumn, printList } from '../output/print.ts'
import { listOf } from '../response-reader.ts'
import { sourcePath } from '../service-client.ts'
import { addServiceAction, addServiceCommand } from '../service-command.ts'

/** Older services send no examples. */
export type PathList = (Omit<SourcePath, 'examples'> & { examples?: string[] })[]

export const pathList = listOf<PathList[number]>('path', 'types', 'entries', 'sampled', 'column')

/** The console uses the same words. */
const kinds: readonly (readonly [RegExp, string])[] = [
  [/^(?:LowCardinality\()?(?:Nullable\()?String/, 'text'],
  [/^(?:Nullable\()?(?:U?Int|Float|Decimal)/, 'number'],
  [/^(?:Nullable\()?Bool/, 'true/false'],
  [/^(?:Array|Tuple)/, 'list'],
  [/^(?:JSON|Object|Map)/, 'object'],
]

const columns: readonly ListColumn<PathList[number]>[] = [
  { title: 'PATH', of: ({ path }) => path },
  { title: 'KINDS', of: ({ types }) => kindsOf(types).join(', ') || null },
  { title: 'SHARE', align: 'right', of: ({ entries, sampled }) => shareOf(entries, sampled) },
  { title: 'COLUMN', of: ({ column }) => column },
]

const help = `
SHARE is the share of the sampled entries that have the path. COLUMN is the typed column of the path: SQL reads the path
from it, which is faster.
`

export function addSourceSchemaCommand(source: Command, io: CommandIo): void {
  const schema = addServiceCommand(source, 'schema', 'list the metadata paths of the newest entries')
    .argument('<name>', 'source name')
    .addHelpText('after', help)
  addServiceAction(schema, io, {
    examples: ['wellhead source schema edge_logs'],
    request: (client, name: string) => client.json('GET', `${sourcePath(name)}/schema`, pathList),
    print: (paths) => printPaths(io, paths),
  })
}

export async function printPaths(io: CommandIo, paths: PathList): Promise<void> {
  const { cutToWidth } = await import('../output/table.ts')
  const exampleColumn: ListColumn<PathList[number]> = {
    title: 'EXAMPLES',
    of: ({ examples }) => examples?.map((text) => cutToWidth(text, 30)).join(', ') || null,
  }
  const hasExamples = paths.some(({ examples }) => examples !== undefined)
  const shown = hasExamples ? [...columns, exampleColumn] : columns
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
