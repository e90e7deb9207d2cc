/*
id: 2f0d9a55-3c8b-4a0e-9b57-6a1f2d4c8e11
description: Requests and errors by hour and project.
parameters:
  project: { empty_is_omitted: true, description: 'One project. Omitted: all projects.' }
  from: { type: timestamp, description: 'Beginning. Omitted: a day ago.' }
cache: 1m
published: true
*/
SELECT
    toStartOfHour(timestamp) AS hour,
    project,
    count() AS requests
FROM edge_logs
WHERE
    timestamp >= toStartOfHour(coalesce(@from, @now - INTERVAL 1 DAY))
    AND (@project IS NULL OR project = @project)
GROUP BY hour, project
ORDER BY hour, project
