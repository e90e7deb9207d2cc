import { useQuery } from '@tanstack/react-query'
import { api, at } from '../../api/api.ts'
import { count } from '../../ui/format.ts'
import { Loaded } from '../../ui/states.tsx'

interface Plan {
  plan: string
  reads: { table: string; parts: number; rows: number; marks: number }[]
}

/** What a call would read and do, as the engine plans it, without doing it. */
export function EndpointPlan({ name, values }: { name: string; values: Record<string, string> }) {
  const query = useQuery({
    queryKey: ['plan', name, values],
    queryFn: ({ signal }) =>
      api<Plan>(`/api/endpoints/query/${at(name)}?${new URLSearchParams({ ...values, _explain: '1' })}`, {
        signal,
      }),
    retry: false,
  })
  return (
    <Loaded query={query} what="the plan" height={240}>
      {({ plan, reads }) => (
        <>
          <ul>
            {reads.map(({ table, rows, parts }) => (
              <li key={table}>
                Reads up to <b>{count(rows)}</b> rows of <code>{table}</code>, in {count(parts)}{' '}
                {parts === 1 ? 'part' : 'parts'}.
              </li>
            ))}
            {reads.length === 0 && <li>Reads nothing.</li>}
          </ul>
          <pre className="json-text" tabIndex={0} role="region" aria-label="Plan of the engine">
            {plan}
          </pre>
        </>
      )}
    </Loaded>
  )
}
