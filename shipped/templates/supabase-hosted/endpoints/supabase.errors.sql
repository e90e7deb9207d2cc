/*
description: Newest failed requests and database errors of a project.
parameters:
  project: { required: true, description: Project reference., example: shop }
  from: { type: timestamp, description: 'Beginning. Omitted: a day ago.' }
max_rows: 100
cache: 30s
published: true
*/
WITH coalesce(@from, @now - INTERVAL 1 DAY) AS start
SELECT timestamp, 'edge' AS service, event_message
FROM edge_logs
WHERE project = @project AND timestamp > start AND status_code >= 500
UNION ALL
SELECT timestamp, 'postgres' AS service, event_message
FROM postgres_logs
WHERE project = @project AND timestamp > start AND error_severity IN ('ERROR', 'FATAL', 'PANIC')
ORDER BY timestamp DESC
LIMIT 100
