import { useMutation, useQuery } from '@tanstack/react-query'
import { api } from '../api/api.ts'
import type { Alert, AlertPreview } from '../api/shapes.ts'
import { TimeSeries } from '../charts/time-series.tsx'
import { ResultTable } from '../query/result/result-table.tsx'
import { Button } from '../ui/button.tsx'
import { Failure, Loaded } from '../ui/states.tsx'
import { showInstant, useZone } from '../ui/text/instants.ts'
import { alertKind } from './alert-draft.ts'

function previewOf(draft: object, signal?: AbortSignal): Promise<AlertPreview> {
  const { name: _, ...body } = draft as { name: string }
  return api<AlertPreview>('/api/alerts/preview', {
    body: { ...body, notify: [] },
    ...(signal && { signal }),
  })
}

/** What the alert would do now, and what it would have done in the last day. */
export function AlertPreviewPart({ draft, isComplete }: { draft: object; isComplete: boolean }) {
  const preview = useMutation({ mutationFn: () => previewOf(draft) })
  return (
    <div className="stack">
      <Button
        look="alert-preview"
        disabled={!isComplete || preview.isPending}
        onClick={() => preview.mutate()}
      >
        {preview.isPending ? 'Evaluating …' : 'Preview'}
      </Button>
      {preview.error && <Failure error={preview.error} />}
      {preview.data && (
        <section className="stack" aria-label="Preview">
          <Outcome preview={preview.data} />
          <details>
            <summary>What a webhook would receive</summary>
            <pre className="json-text" tabIndex={0} role="region" aria-label="Body of the webhook">
              {JSON.stringify(preview.data.webhook, null, 2)}
            </pre>
          </details>
        </section>
      )}
    </div>
  )
}

/** The rows that decide now, and the values of the last day. */
export function AlertOutcome({ alert }: { alert: Alert }) {
  const query = useQuery({
    queryKey: ['alert-outcome', alert.id, alert.version, alert.state],
    queryFn: ({ signal }) => previewOf(alertKind.draftOf(alert), signal),
    // It evaluates the alert many times.
    staleTime: 60_000,
  })
  return (
    <Loaded query={query} what="the result" height={200}>
      {(preview) => (
        <section className="card card-body stack" aria-label="Result">
          <Outcome preview={preview} />
        </section>
      )}
    </Loaded>
  )
}

function Outcome({ preview: { state, value, history, rows } }: { preview: AlertPreview }) {
  const zone = useZone()
  const met = history?.filter((point) => point.met).length ?? 0
  const instants = history?.map(({ at }) => Date.parse(at)) ?? []
  const series = [false, true].map((isMet) => ({
    name: isMet ? 'Condition met' : 'Not met',
    values: history?.map((point) => (point.met === isMet ? point.value : null)) ?? [],
    ...(isMet && { color: 'danger' }),
  }))
  return (
    <>
      <p role="status">
        Now <b>{state}</b>
        {value !== null && (
          <>
            , value <b>{value}</b>
          </>
        )}
        .{' '}
        {history === null
          ? 'The query does not use @now, so its past is unknown.'
          : `The condition was met at ${met} of ${history.length} times in the last day.`}
      </p>
      {history?.some((point) => point.value) ? (
        <TimeSeries
          label="Values of the last day"
          kind="stacked"
          height={140}
          timestamps={instants}
          series={series}
        />
      ) : (
        history && (
          <div>
            <div className="alert-history" role="img" aria-label={`Met at ${met} of ${history.length} times`}>
              {history.map(({ at, value: past, met: isMet }) => (
                <span
                  key={at}
                  className={isMet ? 'met' : ''}
                  title={`${showInstant(Date.parse(at), zone, 'short')}: ${past ?? 'no value'}`}
                />
              ))}
            </div>
            <div className="axis">
              {[0, Math.floor(instants.length / 2), instants.length - 1].map((index) => (
                <span key={index}>{showInstant(instants[index] ?? Number.NaN, zone, 'short')}</span>
              ))}
            </div>
          </div>
        )
      )}
      {rows.length > 0 && <ResultTable rows={rows} columns={[]} />}
    </>
  )
}
