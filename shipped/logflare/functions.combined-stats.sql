/*
id: 0b5c3f5e-3f0c-4a8b-9a53-0c2b6a1d7e14
description: Invocations and logs of a function in buckets of time.
parameters:
  project:
    required: true
    description: Project reference.
  function_id:
    empty_is_omitted: true
    description: Only this function. Omitted or empty, all functions.
  interval:
    enum: [15min, 1hr, 3hr, 1day]
    default: 1hr
    description: How far back. Buckets are minutes, and for 1day 10 minutes.
max_rows: 1000
cache: 30s
timestamps: logflare
*/
WITH
    multiIf(@interval = '15min', 900, @interval = '3hr', 10800, @interval = '1day', 86400, 3600) AS window_seconds,
    if(@interval = '1day', 600, 60) AS bucket_seconds,

    entries AS (
        SELECT
            timestamp AS at,
            1 AS is_request,
            '' AS level,
            metadata.response.status_code::Nullable(Float64) AS status_code,
            metadata.execution_time_ms::Nullable(Float64) AS execution_time,
            CAST(NULL, 'Nullable(Float64)') AS cpu_time,
            CAST(NULL, 'Nullable(Float64)') AS memory,
            CAST(NULL, 'Nullable(Float64)') AS heap,
            CAST(NULL, 'Nullable(Float64)') AS external
        FROM function_edge_logs
        WHERE
            project = @project
            AND timestamp > @now - toIntervalSecond(window_seconds) AND timestamp <= @now
            AND (@function_id IS NULL OR metadata.function_id::String = @function_id)
        UNION ALL
        SELECT
            timestamp AS at,
            0 AS is_request,
            lower(metadata.level::String) AS level,
            CAST(NULL, 'Nullable(Float64)') AS status_code,
            CAST(NULL, 'Nullable(Float64)') AS execution_time,
            metadata.cpu_time_used::Nullable(Float64) AS cpu_time,
            metadata.memory_used.total::Nullable(Float64) AS memory,
            metadata.memory_used.heap::Nullable(Float64) AS heap,
            metadata.memory_used.external::Nullable(Float64) AS external
        FROM function_logs
        WHERE
            project = @project
            AND timestamp > @now - toIntervalSecond(window_seconds) AND timestamp <= @now
            AND (@function_id IS NULL OR metadata.function_id::String = @function_id)
    )

SELECT
    toDateTime64(toStartOfInterval(at, toIntervalSecond(bucket_seconds)), 6, 'UTC') AS timestamp,
    countIf(is_request = 1) AS requests_count,
    countIf(is_request = 0) AS log_count,
    countIf(level IN ('info', 'log')) AS log_info_count,
    countIf(level IN ('warning', 'warn')) AS log_warn_count,
    countIf(level IN ('error', 'fatal')) AS log_error_count,
    countIf(status_code >= 200 AND status_code < 300) AS success_count,
    countIf(status_code >= 300 AND status_code < 400) AS redirect_count,
    countIf(status_code >= 400 AND status_code < 500) AS client_err_count,
    countIf(status_code >= 500) AS server_err_count,
    avg(execution_time) AS avg_execution_time,
    max(execution_time) AS max_execution_time,
    avg(cpu_time) AS avg_cpu_time_used,
    max(cpu_time) AS max_cpu_time_used,
    avg(memory) AS avg_memory_used,
    avg(heap) AS avg_heap_memory_used,
    avg(external) AS avg_external_memory_used
FROM entries
GROUP BY timestamp
ORDER BY timestamp
