/*
id: ab04667e-7513-42e8-b52f-c416ad7d1123
description: Invocations of a project's functions in buckets of time, with counts, errors and execution times.
parameters:
  project:
    required: true
    description: Project reference. Only invocations of this project are counted.
    example: abcdefghijklmnopqrst
  function_id:
    empty_is_omitted: true
    description: Only invocations of this function. Omitted or empty, those of all functions.
    example: 5f0b7a11-4f0e-4c39-9d0e-6f1c3f0b7a11
  interval:
    default: 1day
    description: Length of the series, 5min, 15min, 1hr, 1day or 7day. Anything else is 1day.
    example: 1hr
max_rows: 1000
cache: 900s
warm: 300s
timestamps: logflare
published: true
*/
WITH
    -- How far back the series goes, and how long one of its buckets is.
    multiIf(
        @interval = '5min', 300,
        @interval = '15min', 900,
        @interval = '1hr', 3600,
        @interval = '7day', 604800,
        86400
    ) AS series_seconds,
    multiIf(
        @interval = '5min', 1,
        @interval = '15min', 60,
        @interval = '1hr', 60,
        @interval = '7day', 86400,
        3600
    ) AS bucket_seconds,

    -- Bounds must be DateTime64, as the column is: the index rounds a DateTime to whole seconds and passes
    -- over entries that are a fraction of a second away from it.
    toDateTime64(
        toStartOfInterval(@now - toIntervalSecond(series_seconds), toIntervalSecond(bucket_seconds)),
        6, 'UTC'
    ) AS first_bucket,
    first_bucket + toIntervalSecond(series_seconds) AS last_bucket,

    -- Requests by class of status. To return one of them, select its name.
    countIf(status_code >= 100 AND status_code < 200) AS count_1xx,
    countIf(status_code >= 200 AND status_code < 300) AS count_2xx,
    countIf(status_code >= 300 AND status_code < 400) AS count_3xx,
    countIf(status_code >= 400 AND status_code < 500) AS count_4xx,
    countIf(status_code >= 500 AND status_code < 600) AS count_5xx

SELECT
    -- The name of the source tells its timestamp from that of the bucket.
    toDateTime64(toStartOfInterval(function_edge_logs.timestamp, toIntervalSecond(bucket_seconds)), 6, 'UTC') AS timestamp,
    min(execution_time_ms) AS min_execution_time,
    max(execution_time_ms) AS max_execution_time,
    avg(execution_time_ms) AS avg_execution_time,
    -- A value that was observed, at most 0.1 % of the bucket away from the exact rank, in little memory.
    quantileGK(1000, 0.95)(execution_time_ms) AS p95_execution_time,
    quantileGK(1000, 0.99)(execution_time_ms) AS p99_execution_time,
    count() AS count,
    countIf(status_code >= 400) AS error_count
FROM function_edge_logs
WHERE
    project = @project
    AND (@function_id IS NULL OR function_id = @function_id)
    AND function_edge_logs.timestamp >= first_bucket
    AND function_edge_logs.timestamp < last_bucket + toIntervalSecond(bucket_seconds)
GROUP BY timestamp
-- Every bucket from the first to the one that @now is in. Where nothing happened, counts are 0 and the rest is null.
ORDER BY timestamp WITH FILL
    FROM first_bucket
    TO last_bucket + toIntervalSecond(bucket_seconds)
    STEP toIntervalSecond(bucket_seconds)
