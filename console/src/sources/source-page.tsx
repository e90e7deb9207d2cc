import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { api } from '../api/api.ts'
import type { Entry, Source } from '../api/api-types.ts'
import { queries } from '../api/queries.ts'
import { bytes, count, short } from '../ui/format.ts'
import { showInstant, useZone } from '../ui/instants.ts'
import { PageHead } from '../ui/page-head.tsx'
import { SnippetTabs } from '../ui/snippet.tsx'
import { sendSnippets } from '../ui/snippets.ts'
import { Spark } from '../ui/spark.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { ZoneChoice } from '../ui/zone-choice.tsx'
import { Retention } from './source-form.tsx'
import { SourceSchema } from './source-schema.tsx'

export default function SourcePage({ name }: { name: string }) {
  const query = useQuery({
    ...queries.sources(),
    select: (all) => all.find((one) => one.name === name) ?? null,
  })
  return (
    <Loaded query={query} what="the source" height={480}>
      {(source) =>
        source ? (
          <Shown source={source} />
        ) : (
          <div className="page">
            <PageHead title={name} />
            <Empty title="No such source">
              <p>
                There is no source called {name}. <Link href="/console/sources">All sources</Link>
              </p>
            </Empty>
          </div>
        )
      }
    </Loaded>
  )
}

function Shown({ source }: { source: Source }) {
  const { name, description, aliases } = source
  const { data: usage } = useQuery({
    ...queries.usage(),
    select: ({ sources }) => sources.find((one) => one.name === name),
  })
  const lastHour = usage?.per_minute.reduce((sum, value) => sum + value, 0) ?? 0
  const isQuarantine = name === 'quarantine'
  return (
    <div className="page">
      <PageHead
        title={name}
        actions={
          <Link className="button" href={`/console/explore?source=${name}`}>
            Look at its entries
          </Link>
        }
      >
        <p>
          {description}{' '}
          {aliases.length > 0 && (
            <span className="faint">Senders may also call it {aliases.join(', ')}.</span>
          )}
        </p>
      </PageHead>
      <dl className="figures">
        <div className="figure">
          <dt>Last hour</dt>
          <dd>{usage ? short(lastHour) : '…'}</dd>
          <dd className="under">
            {usage ? (
              <Spark values={usage.per_minute} label="Entries in the last hour" />
            ) : (
              <div className="spark" />
            )}
          </dd>
        </div>
        <div className="figure">
          <dt>Entries</dt>
          <dd>{usage ? count(usage.entries) : '…'}</dd>
        </div>
        <div className="figure">
          <dt>On disk</dt>
          <dd>{usage ? bytes(usage.bytes) : '…'}</dd>
          <dd className="under">
            {usage && usage.entries > 0 && `${bytes(usage.bytes / usage.entries)} an entry`}
          </dd>
        </div>
      </dl>
      {isQuarantine ? <Quarantine /> : <Sending name={name} />}
      <section className="stack" aria-labelledby="retention">
        <h2 id="retention">Retention</h2>
        <Retention source={source} />
      </section>
      {/* Last, since its length is not known before it is there. */}
      <SourceSchema name={name} />
    </div>
  )
}

function Sending({ name }: { name: string }) {
  return (
    <section className="stack" aria-labelledby="sending">
      <h2 id="sending">Send to it</h2>
      <p className="soft">
        With a token of the scope <code>ingest</code> in <code>WELLHEAD_TOKEN</code>.{' '}
        <Link href="/console/tokens">Make one</Link>
      </p>
      <SnippetTabs label="Send with" snippets={sendSnippets(location.origin, name)} />
    </section>
  )
}

function Quarantine() {
  const zone = useZone()
  const query = useQuery({
    queryKey: ['quarantine'],
    queryFn: ({ signal }) => api<Entry[]>('/api/sources/quarantine/recent?limit=100', { signal }),
  })
  return (
    <section className="stack" aria-labelledby="rejected">
      <div className="tabs-line">
        <h2 id="rejected">Rejected entries</h2>
        <ZoneChoice />
      </div>
      <Loaded query={query} what="rejected entries" height={160}>
        {(entries) =>
          entries.length === 0 ? (
            <Empty title="Nothing was rejected">
              <p>An entry that cannot be stored is kept here as text, with the reason.</p>
            </Empty>
          ) : (
            <div
              className="table-box"
              role="region"
              aria-label="Rejected entries, the newest first"
              tabIndex={0}
            >
              <table className="table">
                <thead>
                  <tr>
                    <th scope="col">When</th>
                    <th scope="col">For</th>
                    <th scope="col">Reason</th>
                    <th scope="col">Text</th>
                  </tr>
                </thead>
                <tbody>
                  {entries.map((entry) => (
                    <tr key={entry.id}>
                      <td className="number">{showInstant(entry.timestamp / 1000, zone, 'seconds')}</td>
                      <td>{String(entry.metadata.source ?? '')}</td>
                      <td>{String(entry.metadata.reason ?? '')}</td>
                      <td className="mono">{entry.event_message.slice(0, 200)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Loaded>
    </section>
  )
}
