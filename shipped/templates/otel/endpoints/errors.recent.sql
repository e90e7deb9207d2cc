/*
description: Newest errors of a project, with the trace that each belongs to.
parameters:
  project: { required: true, description: Project reference., example: shop }
published: true
*/
SELECT
    timestamp,
    metadata.resource.`service.name`::Nullable(String) AS service,
    event_message,
    metadata.trace_id::Nullable(String) AS trace_id
FROM otel_logs
WHERE
    project = @project
    AND timestamp > @now - INTERVAL 1 DAY
    AND metadata.severity_number::Nullable(Float64) >= 17
ORDER BY timestamp DESC
LIMIT 100
