import { randomUUID } from 'node:crypto'
import type { RequestCounts } from '../observability/metrics.ts'
import type { RequestEnds } from './request-ends.ts'
import { traceFields } from './request-traces.ts'

/** The id that the caller chose, if it is well-formed, or a new one. */
export function requestIdOf(chosen: string | string[] | undefined): string {
  return typeof chosen === 'string' && /^[\w.-]{1,64}$/.test(chosen) ? chosen : randomUUID()
}

/** The URL without the query string, which may contain parameter values. */
export function pathOf(url: string): string {
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}

/** Logs and counts every request. */
export function logRequests(ends: RequestEnds, requests: RequestCounts): void {
  ends.onEnd((request, reply, status) => {
    requests.add(status)
    // Headers and the query string contain tokens and parameter values.
    request.log.info(
      {
        method: request.method,
        path: pathOf(request.url),
        status,
        ms: Math.round(reply.elapsedTime * 100) / 100,
        ...traceFields(request.trace),
      },
      'request',
    )
  })
}
