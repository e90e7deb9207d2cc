/*
description: OpenTelemetry log records of a project by service and severity, most frequent first.
parameters:
  project: { required: true, description: Project reference., example: shop }
  hours: { type: integer, default: 24, description: Length of the time range in hours. }
published: true
*/
SELECT
    metadata.resource.`service.name`::Nullable(String) AS service,
    metadata.severity_text::Nullable(String) AS severity,
    count() AS records
FROM otel_logs
WHERE
    project = @project
    AND timestamp > @now - toIntervalHour(@hours)
GROUP BY service, severity
ORDER BY records DESC, service, severity
