import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { queries } from '../api/queries.ts'
import type { Source } from '../api/shapes.ts'
import { useMayChange } from '../api/use-may-change.ts'
import { Spark } from '../charts/spark.tsx'
import { Versions } from '../definitions/versions.tsx'
import { Figure } from '../ui/facts.tsx'
import { Existing, PageHead } from '../ui/page-head.tsx'
import { SnippetTabs } from '../ui/snippets/snippet.tsx'
import { sendSnippets } from '../ui/snippets/snippets.ts'
import { Empty, Loaded } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { bytes, count, short, sum } from '../ui/text/format.ts'
import { showInstant, useZone } from '../ui/text/instants.ts'
import { ProjectPath } from './project-path.tsx'
import { Published, Retention, SearchIndex } from './source-form.tsx'
import { sourceKind } from './source-kind.ts'
import { SourceRules } from './source-rules.tsx'
import { SourceSchema } from './source-schema.tsx'

/** The service writes these. */
const ownSources = new Set(['quarantine', 'endpoint_requests', 'alert_events', 'audit_events'])

export default function SourcePage({ name }: { name: string }) {
  const query = useQuery(queries.source(name))
  return (
    <Existing query={query} kind={sourceKind} name={name}>
      {(source) => <ExistingSource source={source} />}
    </Existing>
  )
}

function ExistingSource({ source }: { source: Source }) {
  const { name, description, aliases } = source
  const { data: usage } = useQuery({
    ...queries.usage(),
    select: ({ sources }) => sources.find((one) => one.name === name),
  })
  const { data: withoutProject } = useQuery({
    ...queries.withoutProject(name),
    enabled: !ownSources.has(name),
  })
  return (
    <div className="page">
      <PageHead
        title={name}
        actions={
          <Link className="button" href={`/console/logs?source=${name}`}>
            View entries
          </Link>
        }
      >
        <p>
          {description}{' '}
          {aliases.length > 0 && <span className="faint">Aliases for sending: {aliases.join(', ')}.</span>}
        </p>
      </PageHead>
      <dl className="figures">
        <Figure
          name="Last hour"
          value={usage ? short(sum(usage.per_minute)) : '…'}
          under={<Spark values={usage?.per_minute} />}
        />
        <Figure name="Entries" value={usage ? count(usage.entries) : '…'} />
        {withoutProject !== undefined && withoutProject > 0 && (
          <Figure
            name="Without a project"
            value={count(withoutProject)}
            under="No tenant can see these. Send project, or say below where it is."
          />
        )}
        <Figure
          name="On disk"
          value={usage ? bytes(usage.bytes) : '…'}
          under={usage && usage.entries > 0 && `${bytes(usage.bytes / usage.entries)} per entry`}
        />
      </dl>
      {name === 'quarantine' ? <Quarantine /> : <Sending name={name} />}
      {!ownSources.has(name) && <ProjectPath source={source} />}
      <section className="stack" aria-labelledby="retention">
        <h2 id="retention">Retention</h2>
        <Retention source={source} />
      </section>
      <section className="stack" aria-labelledby="search-index">
        <h2 id="search-index">Search</h2>
        <SearchIndex source={source} />
      </section>
      {!ownSources.has(name) && (
        <section className="stack" aria-labelledby="published">
          <h2 id="published">Tenants</h2>
          <Published source={source} />
        </section>
      )}
      {!ownSources.has(name) && <SourceRules source={source} />}
      {/* Last, because its height is unknown until it is loaded. */}
      <SourceSchema name={name} />
      <section className="stack" aria-labelledby="versions">
        <h2 id="versions">Versions</h2>
        <Versions kind={sourceKind} saved={source} />
      </section>
    </div>
  )
}

function Sending({ name }: { name: string }) {
  const isAdmin = useMayChange('sources')
  return (
    <section className="stack" aria-labelledby="sending">
      <h2 id="sending">Send entries</h2>
      <p className="soft">
        Set <code>WELLHEAD_TOKEN</code> to a token with the scope <code>ingest</code>.{' '}
        {isAdmin ? <Link href="/console/tokens">Create one</Link> : 'Ask an admin for one.'}
      </p>
      <SnippetTabs label="Send with" snippets={sendSnippets(location.origin, name)} />
    </section>
  )
}

function Quarantine() {
  const zone = useZone()
  const query = useQuery(queries.recent('quarantine', 100))
  return (
    <section className="stack" aria-labelledby="rejected">
      <h2 id="rejected">Rejected entries</h2>
      <Loaded query={query} what="rejected entries" height={160}>
        {(entries) =>
          entries.length === 0 ? (
            <Empty title="No rejected entries">
              <p>Entries that cannot be stored are kept here as text, with the reason.</p>
            </Empty>
          ) : (
            <Table
              label="Rejected entries, newest first"
              columns={[['Time'], ['Source'], ['Reason'], ['Text']]}
            >
              {entries.map(({ id, timestamp, metadata, event_message }) => (
                <tr key={id}>
                  <td className="number">{showInstant(timestamp / 1000, zone, 'seconds')}</td>
                  <td>{String(metadata.source ?? '')}</td>
                  <td>{String(metadata.reason ?? '')}</td>
                  <td className="mono">{event_message.slice(0, 200)}</td>
                </tr>
              ))}
            </Table>
          )
        }
      </Loaded>
    </section>
  )
}
