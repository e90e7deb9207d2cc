import type { Usage } from '../../api/shapes.ts'
import { NameLink, Table } from '../../ui/table.tsx'
import { bytes, count } from '../../ui/text/format.ts'
import { type Range, rangeWords } from '../time-range.tsx'
import { entriesInRange } from './entries-in-range.ts'

/** Sources with entries, those with the most new ones first. */
export function SourcesTable({ usage, range }: { usage: Usage; range: Range }) {
  const fresh = new Map(entriesInRange(usage, range).sources.map(({ name, total }) => [name, total]))
  const filled = usage.sources
    .map((source) => ({ ...source, recent: fresh.get(source.name) ?? 0 }))
    .filter(({ entries }) => entries > 0)
    .toSorted((one, other) => other.recent - one.recent || other.entries - one.entries)
  if (filled.length === 0) return <p className="card-body soft">No source has entries.</p>
  const columns = [
    ['Source'],
    [capitalized(rangeWords(range)), 'right'],
    ['Stored', 'right optional'],
    ['Size', 'right optional'],
  ] as const
  return (
    <Table columns={columns}>
      {filled.map(({ name, entries, bytes: size, recent }) => (
        <tr key={name}>
          <td>
            <NameLink href={`/console/logs?source=${name}`} name={name} />
            <div className="under narrow-only">
              {count(entries)} stored · {bytes(size)}
            </div>
          </td>
          <td className="right">{count(recent)}</td>
          <td className="right optional">{count(entries)}</td>
          <td className="right optional">{bytes(size)}</td>
        </tr>
      ))}
    </Table>
  )
}

const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
