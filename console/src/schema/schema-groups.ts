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
].map(([name = '', kind = '']) => ({ name, inSql: name, kind, share: '', examples: [] }))

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
  const group = (title: string, items: SchemaItem[]) => {
    const found = items.filter(({ name, kind, of = '' }) => matches(`${name} ${kind} ${of}`, words))
    return { title, items: found.slice(0, maxItems), found: found.length }
  }
  return [group('Columns', fixed), group('Typed columns', typed), group('Paths', others)]
}
