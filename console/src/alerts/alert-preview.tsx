import { useMutation } from '@tanstack/react-query'
import { api } from '../api/api.ts'
import type { AlertPreview } from '../api/shapes.ts'
import { Button } from '../ui/button.tsx'
import { showInstant, useZone } from '../ui/instants.ts'
import { Failure } from '../ui/states.tsx'

/** What the alert would do now, and what it would have done in the last day. */
export function AlertPreviewPart({ draft, isComplete }: { draft: object; isComplete: boolean }) {
  const preview = useMutation({
    mutationFn: () => {
      const { name: _, ...body } = draft as { name: string }
      return api<AlertPreview>('/api/alerts/preview', { body })
    },
  })
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
      {preview.data && <Previewed preview={preview.data} />}
    </div>
  )
}

function Previewed({ preview: { state, value, history, webhook } }: { preview: AlertPreview }) {
  const zone = useZone()
  const met = history?.filter((point) => point.met).length ?? 0
  return (
    <section className="stack" aria-label="Preview">
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
      {history && (
        <div className="alert-history" role="img" aria-label={`Met at ${met} of ${history.length} times`}>
          {history.map(({ at, value: past, met: isMet }) => (
            <span
              key={at}
              className={isMet ? 'met' : ''}
              title={`${showInstant(Date.parse(at), zone, 'short')}: ${past ?? 'no value'}`}
            />
          ))}
        </div>
      )}
      <details>
        <summary>What a webhook would receive</summary>
        <pre className="json-text" tabIndex={0} role="region" aria-label="Body of the webhook">
          {JSON.stringify(webhook, null, 2)}
        </pre>
      </details>
    </section>
  )
}
