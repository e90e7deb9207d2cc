import type { Whoami } from '../api/shapes.ts'
import { SelectField } from '../ui/fields.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { SnippetTabs } from '../ui/snippets/snippet.tsx'
import { sendSnippets } from '../ui/snippets/snippets.ts'
import { Empty } from '../ui/states.tsx'
import { useAddress } from '../ui/use-address.ts'

/** How to send entries with a token that is not an admin's. */
export default function SendPage({ who }: { who: Whoami }) {
  const [address, setAddress] = useAddress()
  const { ingest_sources: names, project, query, logs } = who
  const asked = address.get('source') ?? ''
  const source = names.includes(asked) ? asked : names[0]
  return (
    <div className="page">
      <PageHead title="Send logs">
        <p>
          {query || logs
            ? 'This token can also send log entries.'
            : 'This token can send log entries. It cannot request endpoints or read entries.'}{' '}
          {project !== null && (
            <>
              Entries without a project get <b>{project}</b>; entries of other projects are rejected.
            </>
          )}
        </p>
      </PageHead>
      {source === undefined ? (
        <Empty title="No source yet">
          <p>The source that this token can send to does not exist yet. Ask an admin to create it.</p>
        </Empty>
      ) : (
        <>
          <div className="form-grid">
            <SelectField
              label="Source"
              value={source}
              options={names.map((name) => [name] as const)}
              onChange={(chosen) => setAddress({ source: chosen }, 'replace')}
            />
          </div>
          <SnippetTabs
            label="Send with"
            snippets={sendSnippets(location.origin, source, project ?? undefined)}
          />
          <p className="soft">
            Set <code>WELLHEAD_TOKEN</code> to this token where the snippet runs. A response with the status
            200 means that every accepted entry is on disk.
          </p>
        </>
      )}
    </div>
  )
}
