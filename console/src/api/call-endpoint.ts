import { cacheOutcome } from '../../../src/shared/cache-status.ts'
import { at, type Request, send } from './api.ts'
import { searchOf } from './search-of.ts'
import type { Column, Row } from './shapes.ts'

/** The result of a request, and what it cost. */
export interface CallResult {
  rows: Row[]
  /** Undefined where the response does not name them. */
  columns?: Column[] | undefined
  truncated: boolean
  /** `hit`, `miss`, `stale`, `joined` or `not cached`; undefined for a live result, like all costs. */
  cache?: string | undefined
  ageSeconds?: number | undefined
  engineMs?: number | undefined
  /** From the click to the last byte. */
  totalMs?: number | undefined
  readRows?: number | undefined
  readBytes?: number | undefined
  /** Version of the endpoint; undefined for one that is not saved. */
  version?: number | undefined
}

export function callEndpoint(
  name: string,
  values: Record<string, string>,
  signal: AbortSignal,
  /** Instead of the token of the session. */
  token?: string,
): Promise<CallResult> {
  return resultOf(queryPath(name, values), { signal, ...(token !== undefined && { token }) })
}

/** Parameters with an underscore are those of every request, such as `_format`. */
export function queryPath(name: string, values: Record<string, string>): string {
  return `/api/endpoints/query/${at(name)}?${searchOf({ ...values, _strict: '1' })}`
}

export function previewEndpoint(
  endpoint: Record<string, unknown>,
  parameters: Record<string, string>,
  signal: AbortSignal,
): Promise<CallResult> {
  return resultOf('/api/endpoints/preview', { body: { endpoint, parameters }, signal })
}

async function resultOf(path: string, request: Request): Promise<CallResult> {
  const startMs = performance.now()
  const response = await send(path, request)
  const { result, columns } = (await response.json()) as { result: Row[]; columns?: Column[] }
  const { headers } = response
  const number = (name: string) => (headers.has(name) ? Number(headers.get(name)) : undefined)
  const engineMs = /(?:^|, )engine;dur=([\d.]+)/.exec(headers.get('Server-Timing') ?? '')?.[1]
  return {
    rows: result,
    columns,
    truncated: headers.get('Wellhead-Truncated') === 'true',
    cache: cacheOutcome(headers.get('Cache-Status') ?? ''),
    ageSeconds: number('Age'),
    engineMs: engineMs === undefined ? undefined : Number(engineMs),
    totalMs: performance.now() - startMs,
    readRows: number('Wellhead-Read-Rows'),
    readBytes: number('Wellhead-Read-Bytes'),
    version: number('Wellhead-Version'),
  }
}
