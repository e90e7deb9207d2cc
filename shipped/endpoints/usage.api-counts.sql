/*
id: a6aaea29-3c0e-46c9-90ff-4d635f66c00a
description: API requests of a project in buckets of time, split by API area.
parameters:
  project:
    required: true
    type: regex
    description: Regular expression (RE2) matched against the request URL. The empty one matches every URL.
    example: abcdefghijklmnopqrst
  interval:
    required: true
    enum: [minutely, hourly, daily]
    description: The last 60 minutes by the minute, the last hour by the hour, or the last 7 days by the day.
    example: daily
max_rows: 1000
cache: 900s
warm: 300s
timestamps: logflare
published: true
*/
WITH
    multiIf(
        @interval = 'minutely', @now - INTERVAL 60 MINUTE,
        @interval = 'hourly', @now - INTERVAL 1 HOUR,
        @now - INTERVAL 7 DAY
    ) AS window_start

SELECT
    -- The name of the source tells its timestamp from that of the bucket.
    multiIf(
        @interval = 'minutely', toStartOfMinute(edge_logs.timestamp),
        @interval = 'hourly', toStartOfHour(edge_logs.timestamp),
        toStartOfDay(edge_logs.timestamp)
    ) AS timestamp,
    -- A path that has several of these counts in each of them.
    countIf(match(request_path, '/rest')) AS total_rest_requests,
    countIf(match(request_path, '/storage')) AS total_storage_requests,
    countIf(match(request_path, '/auth')) AS total_auth_requests,
    countIf(match(request_path, '/realtime')) AS total_realtime_requests
FROM edge_logs
WHERE
    edge_logs.timestamp >= window_start
    -- Nothing around the column, so that an n-gram index on it can pass over what cannot match.
    AND match(request_url, @project)
GROUP BY timestamp
ORDER BY timestamp
