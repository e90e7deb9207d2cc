/*
id: 0d6f0c5e-6a0b-4f43-9a56-6f2c1b7d90e1
description: Requests to endpoints in buckets of time, with errors, cache hits and durations.
parameters:
  endpoint:
    empty_is_omitted: true
    description: Name of the endpoint. Omitted or empty, every endpoint has rows of its own.
    example: logs.all
  interval:
    enum: [5min, 1hr, 1day, 7day]
    default: 1hr
    description: How far back; the buckets are 10 seconds, 1 minute, 15 minutes and 2 hours long.
    example: 1day
max_rows: 10000
cache: 10s
timestamps: logflare
*/
WITH
    multiIf(@interval = '5min', 300, @interval = '1day', 86400, @interval = '7day', 604800, 3600) AS window_seconds,
    multiIf(@interval = '5min', 10, @interval = '1day', 900, @interval = '7day', 7200, 60) AS bucket_seconds,
    toDateTime64(
        toStartOfInterval(@now - toIntervalSecond(window_seconds), toIntervalSecond(bucket_seconds)),
        6, 'UTC'
    ) AS first_bucket,

    -- An entry may stand for several calls that were alike.
    recorded AS (
        SELECT
            toDateTime64(toStartOfInterval(timestamp, toIntervalSecond(bucket_seconds)), 6, 'UTC') AS bucket,
            endpoint,
            toUInt64(ifNull(calls, 1)) AS weight,
            ifNull(status, 0) AS code,
            cache,
            ifNull(total_ms, 0) AS ms
        FROM endpoint_requests
        WHERE
            timestamp >= first_bucket
            AND timestamp <= @now
            AND (@endpoint IS NULL OR endpoint = @endpoint)
    )
SELECT
    bucket AS timestamp,
    endpoint,
    sum(weight) AS calls,
    sumIf(weight, code >= 400) AS errors,
    round(sumIf(weight, cache IN ('hit', 'stale')) / calls, 4) AS hit_ratio,
    round(quantileExactWeighted(0.5)(ms, weight), 3) AS p50_ms,
    round(quantileExactWeighted(0.95)(ms, weight), 3) AS p95_ms,
    round(quantileExactWeighted(0.99)(ms, weight), 3) AS p99_ms
FROM recorded
GROUP BY bucket, endpoint
-- The newest first: where there are too many rows, the oldest are left out.
ORDER BY timestamp DESC, endpoint
