/** An hour of traffic of three projects, the same in every run but for its time. */
export const sampleProject = 'acmeshopprodabcdefgh'

const projects = [sampleProject, 'bluebirdnotesqwertyu', 'cityguideprojectzxcv']
const paths = [
  '/rest/v1/orders',
  '/rest/v1/customers',
  '/storage/v1/object/images',
  '/auth/v1/token',
  '/realtime/v1/websocket',
]
const messages = {
  auth_logs: ['user signed in', 'token refreshed', 'invalid password'],
  postgres_logs: [
    'connection authorized',
    'checkpoint complete',
    'duplicate key value violates unique constraint',
  ],
  function_logs: ['booted', 'handled request', 'shutdown'],
  storage_logs: ['object created', 'object read'],
}

function randomFrom(seed) {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

function edge(pick, random, project, timestamp) {
  const path = pick(paths)
  const url = `https://${project}.example.com${path}`
  const status = random() < 0.06 ? pick([400, 401, 404, 500]) : 200
  const method = pick(['GET', 'GET', 'GET', 'POST'])
  return {
    project,
    timestamp,
    event_message: `${method} | ${status} | ${url}`,
    metadata: {
      request: { method, url, path, host: `${project}.example.com` },
      response: { status_code: status, origin_time: Math.round(20 + random() ** 3 * 300) },
    },
  }
}

function invocation(pick, random, project, timestamp) {
  const failed = random() < 0.05
  const name = pick(['checkout', 'thumbnail', 'hello'])
  return {
    timestamp,
    event_message: `POST | ${failed ? 500 : 200} | ${name}`,
    metadata: {
      project_ref: project,
      function_id: name,
      execution_time_ms: Math.round(20 + random() ** 4 * 900),
      response: { status_code: failed ? 500 : 200 },
    },
  }
}

export async function sendSampleTraffic(url, token, nowMs, entries = 2400) {
  const random = randomFrom(7)
  const pick = (values) => values[Math.floor(random() * values.length)]
  const bySource = new Map()
  for (let n = 0; n < entries; n++) {
    const share = n / entries
    // Busier in waves, and towards the end.
    const timestamp = Math.round(nowMs - 3_590_000 * (1 - share) ** 0.85 + Math.sin(share * 25) * 60_000)
    const project = projects[Math.floor(random() ** 2 * projects.length)]
    const kind = random()
    const source = kind < 0.62 ? 'edge_logs' : kind < 0.8 ? 'function_edge_logs' : pick(Object.keys(messages))
    const entry =
      source === 'edge_logs'
        ? edge(pick, random, project, timestamp)
        : source === 'function_edge_logs'
          ? invocation(pick, random, project, timestamp)
          : { project, timestamp, event_message: pick(messages[source]), metadata: {} }
    bySource.set(source, [
      ...(bySource.get(source) ?? []),
      { ...entry, timestamp: Math.min(entry.timestamp, nowMs) },
    ])
  }
  const post = async (path, body) => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'X-API-KEY': token, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}.`)
  }
  for (const [source, batch] of bySource) await post(`/api/logs?source=${source}`, batch)
  await post('/api/access-tokens', {
    description: 'status board',
    scopes: ['query'],
    requests_per_minute: 600,
  })
  await post('/api/access-tokens', {
    description: 'acme dashboard',
    scopes: ['query:logs.all', 'query:usage.api-counts'],
    project: sampleProject,
    parameters: { project_tier: 'PRO' },
  })
  await post('/api/access-tokens', { description: 'edge workers', scopes: ['ingest:edge_logs'] })
}
