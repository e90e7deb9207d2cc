/*
id: 0b5c3f5e-3f0c-4a8b-9a53-0c2b6a1d7e11
description: API requests of a project in buckets of time, split by API area.
parameters:
  project:
    required: true
    description: Project reference.
  interval:
    required: true
    enum: [15min, 30min, 1hr, 3hr, 1day, 3day, 7day]
    description: How far back. Buckets are minutes up to 3hr, hours up to 3day, and days for 7day.
max_rows: 1000
cache: 60s
timestamps: logflare
*/
WITH
    multiIf(
        @interval = '15min', 900,
        @interval = '30min', 1800,
        @interval = '1hr', 3600,
        @interval = '3hr', 10800,
        @interval = '1day', 86400,
        @interval = '3day', 259200,
        604800
    ) AS window_seconds,

    requests AS (
        SELECT
            multiIf(
                window_seconds <= 10800, toStartOfMinute(timestamp),
                window_seconds <= 259200, toStartOfHour(timestamp),
                toStartOfDay(timestamp)
            ) AS bucket,
            metadata.request.path::String AS path
        FROM edge_logs
        WHERE project = @project AND timestamp >= @now - toIntervalSecond(window_seconds) AND timestamp <= @now
    )

SELECT
    bucket AS timestamp,
    countIf(position(path, '/auth') > 0) AS total_auth_requests,
    countIf(position(path, '/storage') > 0) AS total_storage_requests,
    countIf(position(path, '/rest') > 0) AS total_rest_requests,
    countIf(position(path, '/realtime') > 0) AS total_realtime_requests
FROM requests
GROUP BY bucket
ORDER BY timestamp
