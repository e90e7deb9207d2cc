import type { Source, SourcePath } from '../api/shapes.ts'
import { metadataColumn } from '../query/editor/sql-dialect.ts'
import { matches } from '../ui/search.tsx'
import { kindsOf, shareOf } from './typed-columns.ts'

interface SchemaItem {
  name: string
  /** What to insert. */
  inSql: string
  kind: string
  /** Share of entries that have it. */
  share: string
  /** The path that a typed column stores. */
  of?: string
  examples: readonly string[]
}

export interface SchemaGroup {
  title: string
  /** The first ones that match. */
  items: SchemaItem[]
  /** Number of all that match. */
  found: number
}

const maxItems = 200

const fixed = [
  ['id', 'text'],
  ['timestamp', 'time'],
  ['project', 'text'],
  ['event_message', 'text'],
  ['metadata', 'object'],
].map(([name = '', type = '']) => ({ name, type }))

/** The columns and paths of a source that match. Typed columns are known before the paths are loaded. */
export function schemaGroups(
  { columns }: Pick<Source, 'columns'>,
  paths: readonly SourcePath[] | undefined,
  words: readonly string[],
): SchemaGroup[] {
  const byPath = new Map(paths?.map((path) => [path.path, path]))
  const shareAt = (path: SourcePath | undefined) => (path ? shareOf(path.entries, path.sampled) : '')
  const typed = columns.map(({ name, path, type }) => ({
    name,
    inSql: name,
    kind: type,
    share: shareAt(byPath.get(path)),
    of: `metadata.${path}`,
    examples: byPath.get(path)?.examples ?? [],
  }))
  const others = (paths ?? [])
    .filter(({ column }) => column === null)
    .map((path) => ({
      name: `metadata.${path.path}`,
      inSql: metadataColumn(path.path),
      kind: kindsOf(path.types).join(', '),
      share: shareAt(path),
      examples: path.examples,
    }))
  return [columnGroup(fixed, words), group('Typed columns', typed, words), group('Paths', others, words)]
}

/** The columns of a table or of an endpoint that match. */
export function columnGroup(
  columns: readonly { name: string; type: string }[],
  words: readonly string[],
): SchemaGroup {
  const items = columns.map(({ name, type }) => ({ name, inSql: name, kind: type, share: '', examples: [] }))
  return group('Columns', items, words)
}

function group(title: string, items: SchemaItem[], words: readonly string[]): SchemaGroup {
  const found = items.filter(({ name, kind, of = '' }) => matches(`${name} ${kind} ${of}`, words))
  return { title, items: found.slice(0, maxItems), found: found.length }
}
