/*
id: de267b0d-59a4-4f82-ba4c-f499a8ff0db7
description: The newest entries of a project's edge request log, as far back as its tier keeps them.
parameters:
  project:
    required: true
    description: Project reference. Only entries of this project are returned.
    example: abcdefghijklmnopqrst
  project_tier:
    default: FREE
    description: FREE reaches back 1 day, PRO 7 days, PAYG and ENTERPRISE 90 days. Anything else is 1 day.
    example: PRO
  iso_timestamp_start:
    type: timestamp
    empty_is_omitted: true
    description: Only entries later than this. Omitted or empty, no such bound.
    example: "2026-01-31T12:00:00Z"
  iso_timestamp_end:
    type: timestamp
    empty_is_omitted: true
    description: Only entries at this time or earlier. Omitted or empty, no such bound.
    example: "2026-01-31T13:00:00Z"
max_rows: 1000
cache: none
timestamps: logflare
published: true
*/
WITH
    @now - toIntervalDay(
        multiIf(
            @project_tier = 'PRO', 7,
            @project_tier IN ('PAYG', 'ENTERPRISE'), 90,
            1
        )
    ) AS retention_start,

    -- One lower bound and one upper bound. An end that was not given is the last instant there is.
    greatest(retention_start, ifNull(@iso_timestamp_start, retention_start)) AS later_than,
    ifNull(@iso_timestamp_end, toDateTime64('2299-12-31 23:59:59.999999', 6, 'UTC')) AS not_later_than,

    -- A view of each other source. None of them costs anything here; to read another source, select from its view.
    postgres_entries AS (
        SELECT id, timestamp, event_message, metadata
        FROM postgres_logs
        WHERE project = @project AND timestamp > later_than AND timestamp <= not_later_than
    ),

    function_edge_entries AS (
        SELECT id, timestamp, event_message, metadata
        FROM function_edge_logs
        WHERE project = @project AND timestamp > later_than AND timestamp <= not_later_than
    ),

    function_entries AS (
        SELECT id, timestamp, event_message, metadata
        FROM function_logs
        WHERE project = @project AND timestamp > later_than AND timestamp <= not_later_than
    ),

    auth_entries AS (
        SELECT id, timestamp, event_message, metadata
        FROM auth_logs
        WHERE project = @project AND timestamp > later_than AND timestamp <= not_later_than
    ),

    realtime_entries AS (
        SELECT id, timestamp, event_message, metadata
        FROM realtime_logs
        WHERE project = @project AND timestamp > later_than AND timestamp <= not_later_than
    ),

    storage_entries AS (
        SELECT id, timestamp, event_message, metadata
        FROM storage_logs
        WHERE project = @project AND timestamp > later_than AND timestamp <= not_later_than
    ),

    postgrest_entries AS (
        SELECT id, timestamp, event_message, metadata
        FROM postgrest_logs
        WHERE project = @project AND timestamp > later_than AND timestamp <= not_later_than
    ),

    pgbouncer_entries AS (
        SELECT id, timestamp, event_message, metadata
        FROM pgbouncer_logs
        WHERE project = @project AND timestamp > later_than AND timestamp <= not_later_than
    )

SELECT id, timestamp, event_message, metadata
FROM edge_logs
WHERE project = @project AND timestamp > later_than AND timestamp <= not_later_than
-- The id only decides between entries of the same microsecond, so that the order is always the same.
ORDER BY timestamp DESC, id DESC
LIMIT 100
