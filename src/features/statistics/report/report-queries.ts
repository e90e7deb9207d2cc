import { onFirstUse } from '../../../core/base/on-first-use.ts'
import { parseDefinition } from '../../../core/endpoints/definition/definition.ts'
import type { Endpoint } from '../../../core/endpoints/definition/endpoint.ts'
import { bindQuery } from '../../../core/endpoints/definition/parameters.ts'
import type { ResultColumn } from '../../../core/endpoints/definition/result-columns.ts'

/** How far back a report goes, how long its buckets are, and how long it is cached. */
export const reportIntervals = {
  '5min': { seconds: 300, bucketSeconds: 10, cacheSeconds: 5 },
  '1hr': { seconds: 3600, bucketSeconds: 60, cacheSeconds: 10 },
  '1day': { seconds: 86_400, bucketSeconds: 900, cacheSeconds: 10 },
  '7day': { seconds: 604_800, bucketSeconds: 7200, cacheSeconds: 30 },
  '30day': { seconds: 2_592_000, bucketSeconds: 21_600, cacheSeconds: 60 },
} as const

export type ReportInterval = keyof typeof reportIntervals
export const intervals = Object.keys(reportIntervals) as [ReportInterval, ...ReportInterval[]]
type IntervalLength = (typeof reportIntervals)[ReportInterval]

/** Maximum number of endpoints, callers and error codes. There are always fewer buckets. */
const maxEach = 200

/** Lists are separated by commas, which names cannot contain. Empty: no restriction. */
const parameters = { endpoints: { default: '' }, token: { default: '' } }

/** An entry may stand for several requests that were alike; their number is its weight. */
const recorded = ({ seconds, bucketSeconds }: IntervalLength, code: string) => `
WITH
    toStartOfInterval(@now - toIntervalSecond(${seconds}), toIntervalSecond(${bucketSeconds})) AS first_bucket,
    recorded AS (
        SELECT
            toDateTime64(toStartOfInterval(timestamp, toIntervalSecond(${bucketSeconds})), 6, 'UTC') AS bucket,
            timestamp AS at,
            endpoint AS name,
            token_id AS token,
            toUInt64(ifNull(calls, 1)) AS weight,
            toUInt16(ifNull(status, 0)) AS response,
            ${code} AS error,
            cache IN ('hit', 'stale') AS is_hit,
            ifNull(total_ms, 0) AS ms
        FROM endpoint_requests
        WHERE
            timestamp >= first_bucket
            AND timestamp <= @now
            AND if(@endpoints = '', NOT startsWith(name, 'wellhead.'), has(splitByChar(',', @endpoints), name))
            AND (@token = '' OR token_id = @token)
    )`

/** All figures in one pass. The first column tells what a row is about. */
const figuresSql = (length: IntervalLength) => `${recorded(length, "''")}
SELECT
    multiIf(grouping(bucket) = 0, 'bucket', grouping(name) = 0, 'endpoint', grouping(token) = 0, 'caller', 'total') AS part,
    bucket AS timestamp,
    name AS endpoint,
    token AS token_id,
    sum(weight) AS requests,
    sumIf(weight, response >= 400) AS errors,
    sumIf(weight, is_hit) AS hits,
    round(quantileExactWeighted(0.5)(ms, weight), 3) AS p50_ms,
    round(quantileExactWeighted(0.95)(ms, weight), 3) AS p95_ms,
    round(quantileExactWeighted(0.99)(ms, weight), 3) AS p99_ms,
    max(at) AS last_at
FROM recorded
GROUP BY GROUPING SETS ((bucket), (name), (token), ())
ORDER BY part, requests DESC, endpoint, token_id
LIMIT ${maxEach} BY part`

/** A query of its own, so that metadata is read of failed requests only. */
const codesSql = (length: IntervalLength) => `${recorded(length, "JSONExtractString(metadata, 'code')")}
SELECT error AS code, response AS status, name AS endpoint, sum(weight) AS requests, max(at) AS last_at
FROM recorded
WHERE response >= 400
GROUP BY error, response, name
ORDER BY requests DESC, code, endpoint, status
LIMIT ${maxEach}`

/**
 * The 20 slowest requests of the last hour that reached the engine, whatever became of them, and the last 20 that failed and were
 * refused. They are found by typed columns, so that metadata is read of these alone.
 */
const slowSql = `
SELECT
    timestamp,
    endpoint,
    ifNull(total_ms, 0) AS duration_ms,
    engine_ms,
    status,
    JSONExtractString(metadata, 'code') AS code,
    JSONExtractString(metadata, 'request_id') AS request_id,
    token_id,
    JSONExtractUInt(metadata, 'version') AS version,
    cache
FROM endpoint_requests
WHERE
    timestamp > @now - INTERVAL 1 HOUR
    AND timestamp <= @now
    AND (timestamp, id) IN (
        SELECT timestamp, id
        FROM endpoint_requests
        ARRAY JOIN [
            if(engine_ms > 0, 'slow', ''),
            multiIf(status < 400, '', status >= 500 OR status = 499, 'failed', 'refused')
        ] AS kind
        WHERE
            timestamp > @now - INTERVAL 1 HOUR
            AND timestamp <= @now
            AND if(@endpoints = '', NOT startsWith(endpoint, 'wellhead.'), endpoint = @endpoints)
            AND kind != ''
        ORDER BY kind, if(kind = 'slow', ifNull(total_ms, 0), 0) DESC, timestamp DESC
        LIMIT 20 BY kind
    )`

const text = (...names: string[]) => names.map((name) => ({ name, type: 'String' }))
const count = (...names: string[]) => names.map((name) => ({ name, type: 'UInt64' }))
const number = (...names: string[]) => names.map((name) => ({ name, type: 'Float64' }))
const instant = (name: string) => ({ name, type: "DateTime64(6, 'UTC')" })

const figuresColumns = [
  ...text('part', 'endpoint', 'token_id'),
  instant('timestamp'),
  instant('last_at'),
  ...count('requests', 'errors', 'hits'),
  ...number('p50_ms', 'p95_ms', 'p99_ms'),
]
const codesColumns = [...text('code', 'endpoint'), ...count('status', 'requests'), instant('last_at')]

const slowColumns = [
  ...text('endpoint', 'code', 'request_id', 'token_id', 'cache'),
  ...number('duration_ms', 'engine_ms', 'status'),
  ...count('version'),
  instant('timestamp'),
]

/** Runs and is cached like a saved endpoint, but is not in the catalog, so that nobody can change it. */
function reportQuery(
  part: string,
  interval: string,
  query: string,
  columns: ResultColumn[],
  cacheSeconds: number,
): Endpoint {
  const name = `wellhead.${part}`
  const id = '00000000-0000-4000-8000-000000000000'
  const parsed = parseDefinition({
    id,
    name,
    query,
    parameters,
    max_rows: 1000,
    cache_seconds: cacheSeconds,
    timestamps: 'logflare',
  })
  // No saved endpoint can have such an id.
  const definition = { ...parsed, id: `${name}:${interval}` }
  return { definition, version: 1, compiled: bindQuery(query, definition.parameters), columns }
}

export const slowQuery = onFirstUse(() => reportQuery('slow', '1hr', slowSql, slowColumns, 5))

/** Compiled when they are first needed, because compiling all of them would delay the start. */
export const reportQueries = Object.fromEntries(
  Object.entries(reportIntervals).map(([interval, length]) => [
    interval,
    onFirstUse(() => ({
      figures: reportQuery('figures', interval, figuresSql(length), figuresColumns, length.cacheSeconds),
      codes: reportQuery('codes', interval, codesSql(length), codesColumns, length.cacheSeconds),
    })),
  ]),
) as Record<ReportInterval, () => Record<'figures' | 'codes', Endpoint>>
