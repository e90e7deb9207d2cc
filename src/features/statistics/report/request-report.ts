import { z } from 'zod'
import type { Clock } from '../../../core/base/clock.ts'
import { type CallRequest, callOf } from '../../../core/endpoints/call/call.ts'
import type { EndpointCalls } from '../../../core/endpoints/call/endpoint-calls.ts'
import { outputFormats } from '../../../core/endpoints/call/output-formats.ts'
import {
  intervals,
  type ReportInterval,
  reportIntervals,
  reportQueries,
  slowQuery,
} from './report-queries.ts'

const milliseconds = z.number().nullable()
const figures = z.object({
  requests: z.int(),
  errors: z.int().describe('Requests whose status was 400 or more.'),
  hits: z.int().describe('Requests that got a cached result.'),
  p50_ms: milliseconds,
  p95_ms: milliseconds,
  p99_ms: milliseconds,
})
type Figures = z.output<typeof figures>
const last_at = z.iso.datetime().describe('Time of the last one.')
const { requests, errors, hits } = figures.shape
const p95_ms = z.number()
const errorCode = z.object({ code: z.string(), status: z.int(), endpoint: z.string(), requests, last_at })

export const reportShape = z.object({
  interval: z.enum(intervals).describe('How far back the figures go.'),
  bucket_seconds: z.int().describe('Length of each bucket.'),
  buckets: z
    .array(figures.extend({ timestamp: z.int().describe('Start, in microseconds since 1970.') }))
    .describe('Oldest first, without gaps. Durations are null in a bucket without requests.'),
  totals: figures.describe('Figures of the whole interval.'),
  endpoints: z
    .array(z.object({ endpoint: z.string(), requests, errors, hits, p95_ms }))
    .describe('At most 200, the most requested first.'),
  callers: z.array(z.object({ token_id: z.string(), requests, errors, p95_ms, last_at })),
  codes: z.array(errorCode).describe('At most 200 codes of errors, the most frequent first.'),
})

export type RequestReports = ReturnType<typeof requestReports>

/** Who asks. */
type Reader = Pick<CallRequest, 'caller' | 'project' | 'retentionDays' | 'signal' | 'directives'>

interface ReportRequest extends Reader {
  interval: ReportInterval
  /** Undefined: all except those of the service. */
  endpoints: readonly string[] | undefined
  token: string | undefined
}

interface FiguresRow extends Figures {
  part: 'bucket' | 'endpoint' | 'caller' | 'total'
  timestamp: number
  last_at: number
  endpoint: string
  token_id: string
  p95_ms: number
}

type CodesRow = Omit<z.output<typeof errorCode>, 'last_at'> & { last_at: number }

export const slowRequestShape = z.object({
  at: z.iso.datetime().describe('When the response was sent.'),
  endpoint: z.string().describe('Name of the endpoint.'),
  duration_ms: z.number().describe('Time from the request to the end of the response.'),
  engine_ms: z.number().describe('Time spent in the engine. 0 if unknown.'),
  status: z.int().describe('Status of the response. 499 if the caller disconnected.'),
  code: z.string().nullable().describe('Code of the error. Null: no error.'),
  request_id: z.string().describe('Id of the request in the log.'),
  token_id: z.string().describe('Id of the token.'),
  version: z.int().describe('Version of the endpoint.'),
  cache: z.string().describe('Outcome of the cache: `none`, `stale`, `miss`, `joined` or `bypass`.'),
})
export type SlowRequest = z.output<typeof slowRequestShape>

const [json] = outputFormats as [(typeof outputFormats)[number]]
const noFigures: Figures = { requests: 0, errors: 0, hits: 0, p50_ms: null, p95_ms: null, p99_ms: null }

/** No endpoint can have this name. */
const noEndpoint = '-'

/** Reads statistics of requests, in the way in which an endpoint is called: cached, in turn, and isolated by project. */
export function requestReports(calls: EndpointCalls, clock: Clock) {
  const rowsOf = async <Row>(call: Omit<CallRequest, 'format'>): Promise<Row[]> => {
    const { result } = await calls.call(callOf({ ...call, format: json }))
    return (JSON.parse(result.body.toString()) as { result: Row[] }).result
  }
  return {
    report: async ({ interval, endpoints, token, ...reader }: ReportRequest) => {
      const parameters = {
        endpoints: endpoints?.length === 0 ? noEndpoint : (endpoints ?? []).join(),
        token: token ?? '',
      }
      const { figures, codes } = reportQueries[interval]()
      const [rows, failed] = await Promise.all([
        rowsOf<FiguresRow>({ endpoint: figures, parameters, ...reader }),
        rowsOf<CodesRow>({ endpoint: codes, parameters, ...reader }),
      ])
      return reportOf(interval, rows, failed, clock.now())
    },
    /** Slow, failed and refused requests of an endpoint, or of all except those of the service; slowest first. */
    slow: async (name: string | undefined, reader: Reader): Promise<SlowRequest[]> => {
      const call = { endpoint: slowQuery(), parameters: { endpoints: name ?? '' }, ...reader }
      const rows = await rowsOf<SlowRequest & { timestamp: number }>(call)
      return rows
        .map(({ timestamp, code, ...row }) => ({ ...row, at: isoOf(timestamp), code: code || null }))
        .sort((one, other) => other.duration_ms - one.duration_ms)
    },
  }
}

function reportOf(
  interval: ReportInterval,
  rows: readonly FiguresRow[],
  failed: readonly CodesRow[],
  nowMs: number,
): z.output<typeof reportShape> {
  const { seconds, bucketSeconds } = reportIntervals[interval]
  const of = (part: FiguresRow['part']) => rows.filter((row) => row.part === part)
  const total = of('total')[0]
  const byTime = new Map(of('bucket').map((row) => [row.timestamp, figuresOf(row)]))
  const bucketMicros = bucketSeconds * 1e6
  const first = Math.floor((nowMs - seconds * 1000) / (bucketSeconds * 1000)) * bucketMicros
  const times = Array.from(
    { length: seconds / bucketSeconds + 1 },
    (_, index) => first + index * bucketMicros,
  )
  return {
    interval,
    bucket_seconds: bucketSeconds,
    buckets: times.map((timestamp) => ({ timestamp, ...(byTime.get(timestamp) ?? noFigures) })),
    totals: total ? figuresOf(total) : noFigures,
    endpoints: of('endpoint').map((row) => {
      const { endpoint, requests, errors, hits, p95_ms } = row
      return { endpoint, requests, errors, hits, p95_ms }
    }),
    callers: of('caller').map(({ token_id, requests, errors, p95_ms, last_at }) => {
      return { token_id, requests, errors, p95_ms, last_at: isoOf(last_at) }
    }),
    codes: failed.map((row) => ({ ...row, last_at: isoOf(row.last_at) })),
  }
}

function figuresOf({ requests, errors, hits, p50_ms, p95_ms, p99_ms }: Figures): Figures {
  return requests === 0 ? noFigures : { requests, errors, hits, p50_ms, p95_ms, p99_ms }
}

function isoOf(micros: number): string {
  return new Date(micros / 1000).toISOString()
}
