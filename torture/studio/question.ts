import { isDeepStrictEqual } from 'node:util'
import type { Json } from './entries.ts'

export type Row = Record<string, Json>

/** A query as Studio sends it, and what must come back. */
export interface Question {
  /** The shape, with its number in the list of shapes that Studio sends. */
  name: string
  endpoint: 'logs.all' | 'logs.all.otel'
  sql: string
  /** Parts of the request beside the SQL. */
  window: { iso_timestamp_start: string; iso_timestamp_end: string }
  expected: Expected
}

export type Expected =
  | { rows: readonly Row[]; order: 'exact' | 'any' }
  /** The rows with the largest values in a column. Which of equal ones are among them is not decided. */
  | { rows: readonly Row[]; order: 'top'; by: string; limit: number }
  | { error: RegExp }

/** Says what is wrong with a response, or nothing. */
export function faultOf({ expected }: Question, status: number, text: string): string | undefined {
  if (status !== 200) return `status ${status}: ${text.slice(0, 300)}`
  const body = JSON.parse(text) as { result?: Row[]; error?: string }
  if ('error' in expected) {
    return body.error !== undefined && expected.error.test(body.error)
      ? undefined
      : `no error: ${text.slice(0, 300)}`
  }
  const { result } = body
  if (!result) return `refused: ${body.error}`
  const keys = expected.rows[0] && result[0] ? [Object.keys(expected.rows[0]), Object.keys(result[0])] : []
  if (!isDeepStrictEqual(keys[0], keys[1])) return `columns ${keys[1]}, not ${keys[0]}`
  return expected.order === 'top'
    ? topFault(expected, result)
    : rowsFault(expected.rows, result, expected.order)
}

function rowsFault(rows: readonly Row[], found: readonly Row[], order: 'exact' | 'any'): string | undefined {
  const sorted = (some: readonly Row[]) => (order === 'exact' ? some.map(textOf) : some.map(textOf).sort())
  const [wanted, got] = [sorted(rows), sorted(found)]
  const at = wanted.findIndex((text, index) => text !== got[index])
  if (at >= 0)
    return `row ${at} of ${got.length} is ${got[at]?.slice(0, 400)}, not ${wanted[at]?.slice(0, 400)}`
  return wanted.length < got.length ? `${got.length} rows, not ${wanted.length}` : undefined
}

function topFault(
  { rows, by, limit }: { rows: readonly Row[]; by: string; limit: number },
  found: readonly Row[],
): string | undefined {
  const largest = rows.map((row) => Number(row[by])).sort((one, other) => other - one)
  const values = found.map((row) => Number(row[by]))
  if (!isDeepStrictEqual(values, largest.slice(0, limit)))
    return `${by} is ${values}, not ${largest.slice(0, limit)}`
  const known = new Set(rows.map(textOf))
  const wrong = found.find((row) => !known.has(textOf(row)))
  return wrong && `unexpected row ${textOf(wrong).slice(0, 400)}`
}

/** Sums and averages may differ in their last digits, and maps have no order. */
function textOf({ log_attributes: map, ...row }: Row): string {
  const entries = Object.entries(map ?? {}).sort(([one], [other]) => (one < other ? -1 : 1))
  return JSON.stringify([row, entries], (_, value) =>
    Number.isInteger(value) || typeof value !== 'number' ? value : value.toPrecision(9),
  )
}
