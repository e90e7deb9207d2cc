export function newWorkspaceFiles(id: string): Record<string, string> {
  return {
    'endpoints/requests.by-status.sql': `/*
id: ${id}
description: Requests of a project by status, most frequent first.
parameters:
  project: { required: true, description: Project reference., example: shop }
  hours: { type: integer, default: 24, description: Length of the time range in hours. }
cache: 1m
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
`,
    'fixtures/edge_logs.ndjson': [
      entry('2026-01-31T11:59:00Z', 'shop', '/', 200),
      entry('2026-01-31T11:30:00Z', 'shop', '/cart', 200),
      entry('2026-01-31T10:00:00Z', 'shop', '/nowhere', 404),
      entry('2026-01-30T11:00:00Z', 'shop', '/', 500),
      entry('2026-01-31T11:00:00Z', 'another', '/', 200),
      '',
    ].join('\n'),
    'tests/requests.by-status.yaml': `endpoint: requests.by-status
now: 2026-01-31T12:00:00Z
tests:
  - name: counts the last day of one project
    parameters: { project: shop }
    rows:
      - { status: 200, requests: 2 }
      - { status: 404, requests: 1 }
  - name: counts the given number of hours
    parameters: { project: shop, hours: 1 }
    rows:
      - { status: 200, requests: 2 }
  - name: needs a project
    status: 400
    code: missing_parameter
`,
    'README.md': `# Endpoints

Saved SQL for Wellhead. Each file in \`endpoints/\` is an endpoint, \`fixtures/\` contains entries to test with, and
\`tests/\` lists the expected rows.

    wellhead endpoint new <name> --query -  # write a new endpoint and its test from SQL
    wellhead check --strict                 # find errors and likely mistakes before deploying
    wellhead test                           # run the tests; --update saves the returned rows as the expected ones
    wellhead diff                           # compare the files with a service and show which changes break callers
    wellhead deploy --replay                # update a service to match the files; shows what changes for recent requests
`,
    '.gitignore': `# The data directory of wellhead serve.
data/
`,
  }
}

function entry(timestamp: string, project: string, path: string, status: number): string {
  const request = { method: 'GET', path, url: `https://${project}.example.com${path}` }
  return JSON.stringify({
    timestamp,
    project,
    event_message: `GET ${path} ${status}`,
    metadata: { request, response: { status_code: status } },
  })
}
