/*
id: 0b5c3f5e-3f0c-4a8b-9a53-0c2b6a1d7e02
description: Runs ClickHouse SQL over one view of all sources, which has the columns of the hosted platform.
parameters:
  project:
    required: true
    description: Project reference.
  iso_timestamp_start:
    type: timestamp
    empty_is_omitted: true
    description: Only later entries.
  iso_timestamp_end:
    type: timestamp
    empty_is_omitted: true
    description: No later entries.
sandbox: true
timestamps: logflare
*/
WITH
    Logs AS (
        SELECT
            id,
            timestamp,
            event_message,
            source,
            upper(coalesce(
                JSONExtract(metadata, 'severity_text', 'Nullable(String)'),
                JSONExtract(metadata, 'level', 'Nullable(String)'),
                JSONExtract(metadata, 'parsed', 'error_severity', 'Nullable(String)'),
                'INFO'
            )) AS severity,
            if(
                severity IN (
                    'EMERGENCY', 'ALERT', 'CRITICAL', 'FATAL', 'PANIC', 'ERROR', 'WARNING', 'WARN', 'NOTICE', 'LOG',
                    'INFO', 'DEBUG', 'TRACE'
                ),
                severity, 'INFO'
            ) AS severity_text,
            JSONExtract(metadata, 'JSON(max_dynamic_paths=0)') AS fields,
            mapUpdate(
                map('project', project, 'identifier', project),
                mapFromArrays(
                    JSONAllPaths(fields),
                    -- Arrays as JSON text.
                    arrayMap(
                        (value, type) -> multiIf(
                            startsWith(type, 'Array(JSON'),
                            concat('[', arrayStringConcat(CAST(value, 'Array(String)'), ','), ']'),
                            startsWith(type, 'Array('),
                            toJSONString(CAST(value, 'Array(Dynamic)')),
                            value
                        ),
                        JSONAllValues(fields),
                        mapValues(JSONAllPathsWithTypes(fields))
                    )
                )
            ) AS log_attributes,
            project
        FROM (
            SELECT id, timestamp, event_message, metadata, project, 'edge_logs' AS source FROM edge_logs
            WHERE project = @project AND (@iso_timestamp_start IS NULL OR timestamp > @iso_timestamp_start)
                AND (@iso_timestamp_end IS NULL OR timestamp <= @iso_timestamp_end)
            UNION ALL
            SELECT id, timestamp, event_message, metadata, project, 'postgres_logs' AS source FROM postgres_logs
            WHERE project = @project AND (@iso_timestamp_start IS NULL OR timestamp > @iso_timestamp_start)
                AND (@iso_timestamp_end IS NULL OR timestamp <= @iso_timestamp_end)
            UNION ALL
            SELECT id, timestamp, event_message, metadata, project, 'function_edge_logs' AS source FROM function_edge_logs
            WHERE project = @project AND (@iso_timestamp_start IS NULL OR timestamp > @iso_timestamp_start)
                AND (@iso_timestamp_end IS NULL OR timestamp <= @iso_timestamp_end)
            UNION ALL
            SELECT id, timestamp, event_message, metadata, project, 'function_logs' AS source FROM function_logs
            WHERE project = @project AND (@iso_timestamp_start IS NULL OR timestamp > @iso_timestamp_start)
                AND (@iso_timestamp_end IS NULL OR timestamp <= @iso_timestamp_end)
            UNION ALL
            SELECT id, timestamp, event_message, metadata, project, 'auth_logs' AS source FROM auth_logs
            WHERE project = @project AND (@iso_timestamp_start IS NULL OR timestamp > @iso_timestamp_start)
                AND (@iso_timestamp_end IS NULL OR timestamp <= @iso_timestamp_end)
            UNION ALL
            SELECT id, timestamp, event_message, metadata, project, 'realtime_logs' AS source FROM realtime_logs
            WHERE project = @project AND (@iso_timestamp_start IS NULL OR timestamp > @iso_timestamp_start)
                AND (@iso_timestamp_end IS NULL OR timestamp <= @iso_timestamp_end)
            UNION ALL
            SELECT id, timestamp, event_message, metadata, project, 'storage_logs' AS source FROM storage_logs
            WHERE project = @project AND (@iso_timestamp_start IS NULL OR timestamp > @iso_timestamp_start)
                AND (@iso_timestamp_end IS NULL OR timestamp <= @iso_timestamp_end)
            UNION ALL
            SELECT id, timestamp, event_message, metadata, project, 'postgrest_logs' AS source FROM postgrest_logs
            WHERE project = @project AND (@iso_timestamp_start IS NULL OR timestamp > @iso_timestamp_start)
                AND (@iso_timestamp_end IS NULL OR timestamp <= @iso_timestamp_end)
            UNION ALL
            SELECT id, timestamp, event_message, metadata, project, 'pgbouncer_logs' AS source FROM pgbouncer_logs
            WHERE project = @project AND (@iso_timestamp_start IS NULL OR timestamp > @iso_timestamp_start)
                AND (@iso_timestamp_end IS NULL OR timestamp <= @iso_timestamp_end)
        )
    )

SELECT id, timestamp, event_message, source, severity_text, log_attributes, project FROM Logs
