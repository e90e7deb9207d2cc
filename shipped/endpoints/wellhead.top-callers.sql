/*
id: 7b1f5f0a-3f0e-4c0d-8d6c-2b9a4e1c57d3
description: Tokens with the most requests, with errors, durations, bytes and their last request.
parameters:
  endpoint:
    empty_is_omitted: true
    description: Name of an endpoint. Omitted or empty, requests to all endpoints are counted.
    example: logs.all
  interval:
    enum: [5min, 1hr, 1day, 7day]
    default: 1hr
    description: How far back.
    example: 1day
max_rows: 1000
cache: 10s
timestamps: logflare
*/
WITH
    multiIf(@interval = '5min', 300, @interval = '1day', 86400, @interval = '7day', 604800, 3600) AS window_seconds,

    -- An entry may stand for several calls that were alike; its bytes are those of all of them.
    recorded AS (
        SELECT
            token_id,
            timestamp AS at,
            toUInt64(ifNull(calls, 1)) AS weight,
            ifNull(status, 0) AS code,
            ifNull(total_ms, 0) AS ms,
            toUInt64(ifNull(bytes, 0)) AS sent
        FROM endpoint_requests
        WHERE
            timestamp >= @now - toIntervalSecond(window_seconds)
            AND timestamp <= @now
            AND (@endpoint IS NULL OR endpoint = @endpoint)
    )
SELECT
    token_id,
    sum(weight) AS calls,
    sumIf(weight, code >= 400) AS errors,
    round(quantileExactWeighted(0.95)(ms, weight), 3) AS p95_ms,
    sum(sent) AS bytes,
    max(at) AS last_call
FROM recorded
GROUP BY token_id
ORDER BY calls DESC, token_id
