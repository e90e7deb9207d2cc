/*
id: 2f0d9a55-3c8b-4a0e-9b57-6a1f2d4c8e10
description: Entries of the last week that match a pattern. Slow on purpose; the demo requests it now and then.
parameters:
  pattern: { required: true, example: Safari/.*7$ }
*/
SELECT count() AS matches
FROM edge_logs
CROSS JOIN numbers(40) AS repeated
WHERE
    timestamp > @now - INTERVAL 7 DAY
    AND match(concat(metadata, toString(number)), @pattern)
