import type { RequestCounts } from '../observability/metrics.ts'
import type { RequestEnds } from './request-ends.ts'
import { pathOf } from './request-path.ts'
import { traceFields } from './request-traces.ts'

/** One line for each request, and one more in its count. */
export function logRequests(ends: RequestEnds, requests: RequestCounts): void {
  ends.onEnd((request, reply, status) => {
    requests.add(status)
    // Neither query string nor headers: they hold parameter values and tokens.
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
