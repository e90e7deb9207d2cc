import { Link } from 'wouter'
import type { Entry } from '../../api/shapes.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { JsonTree } from '../../ui/json-tree.tsx'
import { entryLink, traceLinks } from './entry-links.ts'

interface EntryDetailProps {
  source: string
  entry: Entry
  /** Whether the view shows the entries around this one. */
  isLinked: boolean
  onFilter: (keys: string[], value: string, exclude: boolean) => void
  onColumn: ((keys: string[]) => void) | undefined
}

/** An entry with everything that it has, and where to go from it. */
export function EntryDetail({ source, entry, isLinked, onFilter, onColumn }: EntryDetailProps) {
  const { project, id, event_message, metadata } = entry
  const link = entryLink(source, entry)
  return (
    <div className="entry-detail">
      <div className="row">
        <CopyButton label="Copy link" text={new URL(link, location.origin).href} />
        <CopyButton label="Copy JSON" text={JSON.stringify(entry, null, 2)} />
        {!isLinked && (
          <Link className="button small" href={link}>
            Entries around it
          </Link>
        )}
        {traceLinks(source, entry).map(({ key, path, value, href }) => (
          <Link key={path} className="button small" href={href} title={value}>
            Same {key}
          </Link>
        ))}
      </div>
      <JsonTree value={{ project, id, event_message, metadata }} onFilter={onFilter} onColumn={onColumn} />
    </div>
  )
}
