/*
description: Entries of each service of a project in buckets of time, and how many of them are errors.
parameters:
  project: { required: true, description: Project reference., example: shop }
  from: { type: timestamp, description: 'Beginning. Omitted: a day ago.' }
cache: 30s
published: true
*/
WITH
    coalesce(@from, @now - INTERVAL 1 DAY) AS start,
    -- A multiple of a minute, so that a chart has at most about 100 buckets.
    toIntervalSecond(60 * greatest(1, intDiv(dateDiff('second', start, @now), 6000))) AS bucket,
    entries AS (
        SELECT 'edge' AS service, timestamp AS at, ifNull(status_code, 0) >= 500 AS failed
        FROM edge_logs
        WHERE project = @project AND timestamp > start
        UNION ALL
        SELECT 'postgres' AS service, timestamp AS at, error_severity IN ('ERROR', 'FATAL', 'PANIC') AS failed
        FROM postgres_logs
        WHERE project = @project AND timestamp > start
        UNION ALL
        SELECT 'auth' AS service, timestamp AS at, ifNull(lower(metadata.level::Nullable(String)), '') IN ('error', 'fatal') AS failed
        FROM auth_logs
        WHERE project = @project AND timestamp > start
        UNION ALL
        SELECT 'storage' AS service, timestamp AS at, ifNull(lower(metadata.level::Nullable(String)), '') IN ('error', 'fatal') AS failed
        FROM storage_logs
        WHERE project = @project AND timestamp > start
        UNION ALL
        SELECT 'realtime' AS service, timestamp AS at, ifNull(lower(metadata.level::Nullable(String)), '') IN ('error', 'fatal') AS failed
        FROM realtime_logs
        WHERE project = @project AND timestamp > start
        UNION ALL
        SELECT 'functions' AS service, timestamp AS at, ifNull(status_code, 0) >= 500 AS failed
        FROM function_edge_logs
        WHERE project = @project AND timestamp > start
    )
SELECT
    toDateTime(toStartOfInterval(at, bucket), 'UTC') AS time,
    service,
    count() AS entries,
    countIf(failed) AS errors
FROM entries
GROUP BY time, service
ORDER BY time, service
