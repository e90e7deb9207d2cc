/*
id: 0b5c3f5e-3f0c-4a8b-9a53-0c2b6a1d7e12
description: Entries of each service in buckets of time, by how serious they are.
parameters:
  project:
    required: true
    description: Project reference.
  iso_timestamp_start:
    type: timestamp
    empty_is_omitted: true
    description: Only later entries. By default those of the last hour.
  iso_timestamp_end:
    type: timestamp
    empty_is_omitted: true
    description: No later entries.
  granularity:
    enum: [minute, hour, day]
    default: minute
    description: Length of a bucket.
max_rows: 1500
cache: 10s
timestamps: logflare
*/
WITH
    ifNull(@iso_timestamp_start, @now - INTERVAL 1 HOUR) AS start,
    ifNull(@iso_timestamp_end, @now) AS end,
    -- A service without entries in a bucket has these.
    CAST(map('ok', 0, 'warning', 0, 'error', 0, 'total', 0), 'Map(String, UInt64)') AS zeros,

    entries AS (
        SELECT
            timestamp AS at,
            'postgres_logs' AS service,
            multiIf(
                metadata.parsed.error_severity::String IN ('ERROR', 'FATAL', 'PANIC'), 'error',
                metadata.parsed.error_severity::String = 'WARNING', 'warning',
                'ok'
            ) AS level
        FROM postgres_logs
        WHERE project = @project AND timestamp > start AND timestamp <= end
        UNION ALL
        SELECT
            timestamp AS at,
            'auth_logs' AS service,
            multiIf(
                lower(metadata.level::String) IN ('error', 'fatal') OR ifNull(metadata.status::Nullable(Float64), 0) >= 500, 'error',
                lower(metadata.level::String) = 'warning' OR ifNull(metadata.status::Nullable(Float64), 0) >= 400, 'warning',
                'ok'
            ) AS level
        FROM auth_logs
        WHERE project = @project AND timestamp > start AND timestamp <= end
        UNION ALL
        SELECT
            timestamp AS at,
            'function_edge_logs' AS service,
            multiIf(
                ifNull(metadata.response.status_code::Nullable(Float64), 0) >= 500, 'error',
                ifNull(metadata.response.status_code::Nullable(Float64), 0) >= 400, 'warning',
                'ok'
            ) AS level
        FROM function_edge_logs
        WHERE project = @project AND timestamp > start AND timestamp <= end
        UNION ALL
        SELECT
            timestamp AS at,
            'storage_logs' AS service,
            multiIf(
                lower(metadata.level::String) IN ('error', 'fatal'), 'error',
                lower(metadata.level::String) IN ('warning', 'warn'), 'warning',
                'ok'
            ) AS level
        FROM storage_logs
        WHERE project = @project AND timestamp > start AND timestamp <= end
        UNION ALL
        SELECT
            timestamp AS at,
            'realtime_logs' AS service,
            multiIf(
                lower(metadata.level::String) IN ('error', 'fatal'), 'error',
                lower(metadata.level::String) IN ('warning', 'warn'), 'warning',
                'ok'
            ) AS level
        FROM realtime_logs
        WHERE project = @project AND timestamp > start AND timestamp <= end
        UNION ALL
        SELECT
            timestamp AS at,
            'postgrest_logs' AS service,
            multiIf(
                0, 'error',
                0, 'warning',
                'ok'
            ) AS level
        FROM postgrest_logs
        WHERE project = @project AND timestamp > start AND timestamp <= end
        UNION ALL
        SELECT
            timestamp AS at,
            'edge_logs' AS service,
            multiIf(
                ifNull(metadata.response.status_code::Nullable(Float64), 0) >= 500, 'error',
                ifNull(metadata.response.status_code::Nullable(Float64), 0) >= 400, 'warning',
                'ok'
            ) AS level
        FROM edge_logs
        WHERE project = @project AND timestamp > start AND timestamp <= end
        UNION ALL
        SELECT
            timestamp AS at,
            'function_logs' AS service,
            multiIf(
                lower(metadata.level::String) IN ('error', 'fatal'), 'error',
                lower(metadata.level::String) IN ('warning', 'warn'), 'warning',
                'ok'
            ) AS level
        FROM function_logs
        WHERE project = @project AND timestamp > start AND timestamp <= end
    ),

    buckets AS (
        SELECT
            toDateTime64(
                multiIf(
                    @granularity = 'hour', toStartOfHour(at),
                    @granularity = 'day', toStartOfDay(at),
                    toStartOfMinute(at)
                ),
                6, 'UTC'
            ) AS bucket,
            service,
            CAST(map(level, 1, 'total', 1), 'Map(String, UInt64)') AS counted
        FROM entries
    )

SELECT
    bucket AS timestamp,
    mapAdd(zeros, sumMapIf(counted, service = 'postgres_logs')) AS postgres_logs,
    mapAdd(zeros, sumMapIf(counted, service = 'auth_logs')) AS auth_logs,
    mapAdd(zeros, sumMapIf(counted, service = 'function_edge_logs')) AS function_edge_logs,
    mapAdd(zeros, sumMapIf(counted, service = 'storage_logs')) AS storage_logs,
    mapAdd(zeros, sumMapIf(counted, service = 'realtime_logs')) AS realtime_logs,
    mapAdd(zeros, sumMapIf(counted, service = 'postgrest_logs')) AS postgrest_logs,
    mapAdd(zeros, sumMapIf(counted, service = 'edge_logs')) AS edge_logs,
    mapAdd(zeros, sumMapIf(counted, service = 'supavisor_logs')) AS supavisor_logs,
    mapAdd(zeros, sumMapIf(counted, service = 'function_logs')) AS function_logs,
    mapAdd(zeros, sumMapIf(counted, service = 'etl_replication_logs')) AS etl_replication_logs
FROM buckets
GROUP BY bucket
ORDER BY timestamp
