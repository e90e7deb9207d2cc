/*
description: Requests and server errors of a site per minute.
parameters:
  project: { required: true, description: Name of the site., example: shop.example.com }
  hours: { type: integer, default: 1, description: Length of the time range in hours. }
cache: 1m
warm: 30s
published: true
*/
SELECT
    toStartOfMinute(timestamp) AS minute,
    count() AS requests,
    countIf(status >= 500) AS errors
FROM nginx_logs
WHERE
    project = @project
    AND timestamp > @now - toIntervalHour(@hours)
GROUP BY minute
ORDER BY minute
