/*
description: Paths of a site by the 95th percentile of their duration, slowest first.
parameters:
  project: { required: true, description: Name of the site., example: shop.example.com }
  hours: { type: integer, default: 24, description: Length of the time range in hours. }
published: true
*/
SELECT
    path,
    count() AS requests,
    round(quantileExactHigh(0.95)(duration_s) * 1000) AS p95_ms
FROM nginx_logs
WHERE
    project = @project
    AND timestamp > @now - toIntervalHour(@hours)
GROUP BY path
ORDER BY p95_ms DESC, path
LIMIT 20
