import { useMutation } from '@tanstack/react-query'
import { Link } from 'wouter'
import { api } from '../../api/api.ts'
import { type CallResult, callEndpoint } from '../../api/call-endpoint.ts'
import { invalidate } from '../../api/queries.ts'
import { ResultTable } from '../../query/result/result-table.tsx'
import { Button } from '../../ui/button.tsx'
import { SnippetBox } from '../../ui/snippets/snippet.tsx'
import { callSnippets } from '../../ui/snippets/snippets.ts'
import { Empty, Failure } from '../../ui/states.tsx'
import { firstEndpoint, firstEntry, firstSource, firstValues, sendFirst } from './first-request.ts'

/** Sends an entry and finds it with a saved query, as the README does. */
export function FirstEntry({ onTried }: { onTried: () => void }) {
  const { mutate, isPending, data, error } = useMutation({
    mutationFn: async (): Promise<CallResult> => {
      await api(`/api/logs?source=${firstSource}`, { body: firstEntry })
      const result = await callEndpoint(firstEndpoint, firstValues, new AbortController().signal)
      onTried()
      invalidate('usage')
      return result
    },
  })
  return (
    <Empty title={data ? 'It works' : 'No entries yet'}>
      <p>
        Send an entry with a token that has the scope <code>ingest</code>:
      </p>
      <SnippetBox text={sendFirst(location.origin)} label="Send an entry" />
      <p>Then find it with a saved query:</p>
      <SnippetBox
        text={callSnippets(location.origin, firstEndpoint, firstValues)[0]?.text ?? ''}
        label="Query the entry"
      />
      {data ? (
        <ResultTable rows={data.rows} columns={data.columns ?? []} />
      ) : (
        <p>
          <Button look="primary" disabled={isPending} onClick={() => mutate()}>
            {isPending ? 'Sending …' : 'Try it'}
          </Button>
        </p>
      )}
      {error && <Failure error={error} />}
      <p>
        The page of <Link href="/console/sources">each source</Link> shows other ways to send entries.
      </p>
    </Empty>
  )
}
