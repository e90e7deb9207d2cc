/** A query that Studio, its templates or its MCP server send, and the rows for the entries of vector.ts. */
export interface Shape {
  name: string
  sql: string
  rows: Record<string, unknown>[]
}

export const edge =
  'cross join unnest(metadata) as m cross join unnest(m.request) as request cross join unnest(m.response) as response'
export const parsed = 'cross join unnest(metadata) as m cross join unnest(m.parsed) as parsed'

/** Times of entries, in the forms that queries and rows have them. */
export function timesOf(startMs: number) {
  const iso = (seconds: number) => new Date(startMs + seconds * 1000).toISOString()
  return {
    micros: (seconds: number, fraction = 0) => (startMs + seconds * 1000) * 1000 + fraction,
    iso,
    text: (seconds: number) => iso(seconds).slice(0, 19),
    hour: `${iso(0).slice(0, 13)}:00:00`,
  }
}
