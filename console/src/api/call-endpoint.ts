import { at, send } from './api.ts'
import type { Column, Row } from './api-types.ts'

/** What a call gave, and what it cost. */
export interface CallResult {
  rows: Row[]
  /** Undefined where the answer does not name them. */
  columns: Column[] | undefined
  bytes: number
  truncated: boolean
  /** `hit`, `miss`, `stale`, `joined` or `not cached`. */
  cache: string
  ageSeconds: number | undefined
  engineMs: number | undefined
  serverMs: number | undefined
  /** From the click to the last byte. */
  totalMs: number
  readRows: number | undefined
  readBytes: number | undefined
  /** Of the endpoint; undefined for one that is not saved. */
  version: number | undefined
}

export interface CallOptions {
  signal: AbortSignal
  /** Whether the cache is passed by. */
  fresh?: boolean
}

export async function callEndpoint(
  reference: string,
  values: Record<string, string>,
  { signal, fresh = false }: CallOptions,
): Promise<CallResult> {
  const since = performance.now()
  const query = new URLSearchParams(values).toString()
  const response = await send(`/api/endpoints/query/${at(reference)}${query && `?${query}`}`, {
    signal,
    headers: fresh ? { 'Cache-Control': 'no-cache' } : {},
  })
  return readResult(response, since)
}

export async function previewEndpoint(
  endpoint: Record<string, unknown>,
  values: Record<string, string>,
  { signal }: CallOptions,
): Promise<CallResult> {
  const since = performance.now()
  const response = await send('/api/endpoints/preview', { body: { endpoint, parameters: values }, signal })
  return readResult(response, since)
}

async function readResult(response: Response, since: number): Promise<CallResult> {
  const text = await response.text()
  const { result, columns } = JSON.parse(text) as { result: Row[]; columns?: Column[] }
  const { headers } = response
  const number = (name: string) => (headers.has(name) ? Number(headers.get(name)) : undefined)
  const timing = headers.get('Server-Timing') ?? ''
  const duration = (name: string) => {
    const found = new RegExp(`(?:^|, )${name};dur=([\\d.]+)`).exec(timing)?.[1]
    return found === undefined ? undefined : Number(found)
  }
  return {
    rows: result,
    columns,
    bytes: text.length,
    truncated: headers.get('Wellhead-Truncated') === 'true',
    cache: outcomeOf(headers.get('Cache-Status') ?? ''),
    ageSeconds: number('Age'),
    engineMs: duration('engine'),
    serverMs: duration('total'),
    totalMs: performance.now() - since,
    readRows: number('Wellhead-Read-Rows'),
    readBytes: number('Wellhead-Read-Bytes'),
    version: number('Wellhead-Version'),
  }
}

/** RFC 9211 in one word. */
function outcomeOf(status: string): string {
  if (/fwd=bypass/.test(status)) return 'not cached'
  if (/;\s*hit/.test(status)) return /ttl=-/.test(status) ? 'stale' : 'hit'
  if (/collapsed/.test(status)) return 'joined'
  return /fwd=/.test(status) ? 'miss' : 'not cached'
}
