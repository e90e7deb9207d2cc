/*
description: Requests of a project by status, most frequent first.
parameters:
  project: { required: true, description: Project reference., example: shop }
  hours: { type: integer, default: 24, description: Length of the time range in hours. }
cache: 1m
published: true
*/
SELECT
    metadata.response.status_code::Nullable(Float64) AS status,
    count() AS requests
FROM edge_logs
WHERE
    project = @project
    AND timestamp > @now - toIntervalHour(@hours)
GROUP BY status
ORDER BY requests DESC, status
