/** The files of a new project: one endpoint, with what it takes to test it. */
export function newProjectFiles(id: string): Record<string, string> {
  return {
    'endpoints/requests.by-status.sql': `/*
id: ${id}
description: Requests of a project by status, the most frequent first.
parameters:
  project: { required: true, description: Project reference., example: shop }
  hours: { type: integer, default: 24, description: How far to look back. }
cache: 60s
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
  - name: looks back as far as it is told
    parameters: { project: shop, hours: 1 }
    rows:
      - { status: 200, requests: 2 }
  - name: needs a project
    status: 400
    code: missing_parameter
`,
    'README.md': `# Endpoints

Saved SQL for Wellhead. Each file in \`endpoints/\` is an endpoint, \`fixtures/\` holds entries to test with, and \`tests/\`
says which rows are expected of them.

    wellhead check     # what saving would refuse
    wellhead test      # run the tests; --update writes down what came
    wellhead diff      # what a service has, and what a deployment would mean for its callers
    wellhead deploy    # bring a service to what the files say, all or none
`,
    '.gitignore': `# What wellhead serve keeps when it is started here.
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
