/** Questions to start from. */
export const examples = [
  {
    title: 'How many requests are there per minute, and how many fail?',
    query: `SELECT
    toStartOfMinute(timestamp) AS minute,
    count() AS requests,
    countIf(status_code >= 500) AS errors
FROM edge_logs
WHERE timestamp > @now - INTERVAL 1 HOUR
GROUP BY minute
ORDER BY minute`,
  },
  {
    title: 'Which paths are slow?',
    query: `SELECT
    request_path,
    count() AS requests,
    round(quantile(0.95)(origin_time)) AS p95_ms
FROM edge_logs
WHERE timestamp > @now - INTERVAL 1 DAY
GROUP BY request_path
ORDER BY p95_ms DESC
LIMIT 20`,
  },
  {
    title: 'Which requests of a project failed last?',
    query: `SELECT
    timestamp,
    status_code,
    request_method,
    request_url
FROM edge_logs
WHERE project = @project
    AND timestamp > @now - INTERVAL 1 DAY
    AND status_code >= 400
ORDER BY timestamp DESC
LIMIT 100`,
  },
] as const
