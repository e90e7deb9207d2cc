import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import type { CallResult } from '../../api/call-endpoint.ts'
import { queries } from '../../api/queries.ts'
import type { Endpoint, JsonPath, SlowCall } from '../../api/shapes.ts'
import { type Run, resultOf } from '../../query/run/use-run.ts'
import { CreateColumn, NewColumn } from '../../schema/column-dialogs.tsx'
import { heavyReading } from '../../schema/typed-columns.ts'
import { counted, milliseconds } from '../../ui/text/format.ts'

/** Paths of a saved query that would be faster as typed columns, if recent requests show that it matters. */
export function ColumnSuggestions({ saved: { name, version }, run }: { saved: Endpoint; run: Run }) {
  const id = useId()
  const { data: paths = [] } = useQuery(queries.jsonPaths(name, version))
  const { data: calls = [] } = useQuery({ ...queries.slowCalls(name), enabled: paths.length > 0 })
  const { data: sources } = useQuery(queries.sources())
  const [chosen, setChosen] = useState<JsonPath>()
  // A service without statistics lists no requests, so the run on this page counts as well.
  const result = resultOf(run)
  const reading = heavyReading([...calls, ...(result ? [callOf(result)] : [])], version)
  if (paths.length === 0 || !reading || !sources) return null
  const columnOf = ({ source, path }: JsonPath) =>
    sources.find((one) => one.name === source)?.columns.find((column) => column.path === path)?.name
  return (
    <section className="note-box stack" aria-labelledby={id}>
      <h2 id={id}>Faster with typed columns</h2>
      <p>
        Recent requests {reading.rows > 0 && `read up to ${counted(reading.rows, 'row')} and `}
        took up to {milliseconds(reading.engineMs)} in the engine.
      </p>
      <ul className="suggestions">
        {paths.map((one) => {
          const column = columnOf(one)
          return (
            <li key={`${one.source} ${one.path}`}>
              <span>
                <code className="path">metadata.{one.path}</code> is read from JSON text for each entry.{' '}
                {column === undefined ? (
                  <>
                    A typed column of <code>{one.source}</code> speeds up this query.
                  </>
                ) : (
                  <>
                    Use <code>{column}</code>, its typed column of <code>{one.source}</code>, in the query
                    instead.
                  </>
                )}
              </span>
              {column === undefined && <CreateColumn path={one.path} onClick={() => setChosen(one)} />}
            </li>
          )
        })}
      </ul>
      {chosen && <NewColumn {...chosen} onClose={() => setChosen(undefined)} />}
    </section>
  )
}

function callOf({ engineMs = 0, readRows, version = 0 }: CallResult): SlowCall {
  return { engine_ms: engineMs, rows_read: readRows ?? null, version }
}
