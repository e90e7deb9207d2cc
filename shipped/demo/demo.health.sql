/*
id: 2f0d9a55-3c8b-4a0e-9b57-6a1f2d4c8e12
description: Requests, errors and latency by hour.
parameters:
  project: { empty_is_omitted: true, description: 'One project. Omitted: all projects.' }
  from: { type: timestamp, description: 'Beginning. Omitted: a day ago.' }
cache: 1m
published: true
*/
SELECT
    toStartOfHour(timestamp) AS hour,
    count() AS requests,
    countIf(metadata.response.status_code::Int64 >= 500) AS errors,
    round(quantile(0.5)(metadata.response.origin_time::Float64)) AS p50_ms,
    round(quantile(0.95)(metadata.response.origin_time::Float64)) AS p95_ms
FROM edge_logs
WHERE
    timestamp >= toStartOfHour(coalesce(@from, @now - INTERVAL 1 DAY))
    AND timestamp < toStartOfHour(@now)
    AND (@project IS NULL OR project = @project)
GROUP BY hour
ORDER BY hour
