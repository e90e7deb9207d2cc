/** The pair of requests at the beginning of the README. */
export const firstSource = 'edge_logs'
export const firstEndpoint = 'usage.api-counts'
export const firstValues = { project: 'demo', interval: 'hourly' }
export const firstEntry = {
  project: 'demo',
  event_message: 'hello',
  metadata: { request: { url: 'https://demo.example.com/rest/v1', path: '/rest/v1' } },
}

export function sendFirst(origin: string): string {
  return `curl -H "X-API-KEY: $WELLHEAD_TOKEN" '${origin}/api/logs?source=${firstSource}' \\\n  -d '${JSON.stringify(firstEntry)}'`
}
