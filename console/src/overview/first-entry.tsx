import { Link } from 'wouter'
import { SnippetBox } from '../ui/snippet.tsx'
import { sendSnippets } from '../ui/snippets.ts'
import { Empty } from '../ui/states.tsx'

export function FirstEntry() {
  return (
    <Empty title="No entries yet">
      <p>
        Send one with a token that has the scope <code>ingest</code>:
      </p>
      <SnippetBox text={sendSnippets(location.origin, 'edge_logs')[0]?.text ?? ''} label="Send an entry" />
      <p>
        The page of <Link href="/console/sources">each source</Link> shows other ways to send entries.
      </p>
    </Empty>
  )
}
