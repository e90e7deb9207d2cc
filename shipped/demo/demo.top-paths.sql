/*
id: 2f0d9a55-3c8b-4a0e-9b57-6a1f2d4c8e13
description: The most requested paths, with their errors and latency.
parameters:
  project: { empty_is_omitted: true, description: 'One project. Omitted: all projects.' }
  from: { type: timestamp, description: 'Beginning. Omitted: a day ago.' }
max_rows: 20
cache: 1m
published: true
*/
SELECT
    metadata.request.path::String AS path,
    count() AS requests,
    countIf(metadata.response.status_code::Int64 >= 500) AS errors,
    round(quantile(0.95)(metadata.response.origin_time::Float64)) AS p95_ms
FROM edge_logs
WHERE
    timestamp >= toStartOfHour(coalesce(@from, @now - INTERVAL 1 DAY))
    AND (@project IS NULL OR project = @project)
GROUP BY path
ORDER BY requests DESC, path
