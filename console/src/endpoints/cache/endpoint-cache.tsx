import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { api, at } from '../../api/api.ts'
import { invalidate, queries } from '../../api/queries.ts'
import type { Endpoint, EndpointCacheState } from '../../api/shapes.ts'
import { useMayChange } from '../../api/use-may-change.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { Figure } from '../../ui/facts.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { bytes, count, counted, seconds, sum } from '../../ui/text/format.ts'
import { CachedResults } from './cached-results.tsx'

/** The results of an endpoint that are in the cache. */
export function EndpointCache({ saved }: { saved: Endpoint }) {
  const query = useQuery({ ...queries.endpointCache(saved.name), enabled: saved.cache_seconds !== null })
  if (saved.cache_seconds === null) {
    return (
      <Empty title="Results are not cached">
        <p>
          Each request runs the query. To serve repeated requests from memory, set a <b>Cache lifetime</b> in
          the <Link href={`/console/endpoints/${at(saved.name)}?_tab=settings`}>settings</Link>.
        </p>
      </Empty>
    )
  }
  return (
    <Loaded query={query} what="the cached results" height={360}>
      {(cache) => <Cached name={saved.name} cache={cache} />}
    </Loaded>
  )
}

function Cached({ name, cache }: { name: string; cache: EndpointCacheState }) {
  const { results, total, cache_seconds, warm_seconds } = cache
  const [dropping, setDropping] = useState(false)
  const mayChange = useMayChange()
  const drop = useMutation({
    mutationFn: () => api(`/api/endpoints/${at(name)}/cache`, { method: 'DELETE' }),
    onSuccess: () => {
      setDropping(false)
      invalidate('endpoints', 'cache')
    },
  })
  const failing = results.filter(({ failure }) => failure !== null).length
  return (
    <>
      <dl className="figures eight">
        <Figure
          name="Cached results"
          value={count(total)}
          under={total > results.length && `the ${counted(results.length, 'most used result')} are shown`}
        />
        <Figure name="Memory" value={bytes(sum(results.map((one) => one.bytes)))} />
        <Figure
          name="Cache lifetime"
          value={cache_seconds === null ? '–' : seconds(cache_seconds)}
          under={
            warm_seconds === null
              ? 'not refreshed in the background'
              : `refreshed every ${seconds(warm_seconds)}`
          }
        />
        <Figure
          name="Failed refreshes"
          value={count(failing)}
          under={failing > 0 ? 'older results are returned until they expire' : undefined}
        />
      </dl>
      <div className="tabs-line">
        <h2>Cached results</h2>
        {mayChange && (
          <Button
            look="danger"
            disabled={total === 0}
            title={total === 0 ? 'There are no cached results.' : undefined}
            onClick={() => setDropping(true)}
          >
            Drop cached results
          </Button>
        )}
      </div>
      {results.length === 0 ? (
        <Empty title="No cached results">
          <p>The next request to this endpoint adds one for its parameters.</p>
        </Empty>
      ) : (
        <CachedResults results={results} />
      )}
      {dropping && (
        <Confirm
          title="Drop cached results?"
          action={`Drop ${counted(total, 'cached result')}`}
          mutation={drop}
          onClose={() => setDropping(false)}
        >
          <p>The next request for each of them runs the query again. Nothing is lost.</p>
        </Confirm>
      )}
    </>
  )
}
