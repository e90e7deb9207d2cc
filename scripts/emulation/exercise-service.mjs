import { spawn } from 'node:child_process'
import * as fs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const token = 'token-for-one-use-of-the-engine'

const query = (name, values) => ['GET', `/api/endpoints/query/${name}?project=p&${values}`]
const sql = (text) => ['POST', '/api/sql', { query: text }]
const orders = 'SELECT tier, count() AS n FROM used_logs WHERE project = @project GROUP BY tier ORDER BY tier'

/** What most services are asked. Some of it is refused, which takes other ways through the engine. */
const requests = [
  ['POST', '/api/logs?source=edge_logs', [{ project: 'p', event_message: 'a', metadata: { status: 200 } }]],
  ['POST', '/api/logs?source=function_edge_logs', [{ project: 'p', event_message: 'b' }]],
  query('logs.all', 'project_tier=PRO'),
  query('usage.api-counts', 'interval=daily'),
  query('functions.invocation-stats', 'function_id=f&interval=1day'),
  ['POST', '/api/sources', { name: 'used_logs', columns: [{ name: 'tier', path: 'tier', type: 'text' }] }],
  ['POST', '/api/logs?source=used_logs', [{ project: 'p', metadata: { tier: 'PRO', n: 1 } }]],
  ['POST', '/api/endpoints', { name: 'used', query: orders, cache_seconds: 60 }],
  query('used', ''),
  query('used', '_explain'),
  ['PATCH', '/api/endpoints/used', { query: orders.replace('count()', 'uniqExact(id)') }],
  sql(
    "SELECT metadata.n AS n, toStartOfHour(timestamp) AS hour FROM used_logs WHERE event_message ILIKE '%a%'",
  ),
  sql(
    'SELECT quantile(0.9)(length(event_message)) AS q, max(timestamp) AS t FROM edge_logs GROUP BY project',
  ),
  sql('SELECT cont() FROM edge_logs'),
  sql('SELECT nothing FROM edge_logs'),
  sql('SELECT FROM'),
  ['POST', '/api/sources/edge_logs/search', { query: 'a status:>100' }],
  ['POST', '/api/sources/edge_logs/histogram', { query: 'a' }],
  ['GET', '/api/sources/edge_logs/schema'],
  ['GET', '/api/requests'],
  ['DELETE', '/api/endpoints/used'],
  ['DELETE', '/api/sources/used_logs?confirm=used_logs'],
]

/** Something is wrong with an engine that takes longer. */
const withinMs = 120_000

/** Starts a service twice on an engine, and uses it each time. Calls `engineEnded` after each end of a service. */
export async function exerciseService(engineNode, engineEnded) {
  const directory = await fs.mkdtemp(join(tmpdir(), 'wellhead-use-'))
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('WELLHEAD_'))
  const environment = {
    ...Object.fromEntries(others),
    WELLHEAD_ADMIN_TOKEN: token,
    WELLHEAD_ENGINE_NODE: engineNode,
    // New translations take long.
    WELLHEAD_ENGINE_PATIENCE: '100',
    WELLHEAD_LOG_LEVEL: 'silent',
    // A service that is killed leaves files there.
    TMPDIR: directory,
  }
  const args = [join(root, 'dist/main.js'), 'serve', '--port', '0', '--data-dir', join(directory, 'data')]
  try {
    for (const asked of [requests, requests.slice(2, 5)]) {
      const service = spawn(process.execPath, args, { env: environment, stdio: ['ignore', 'ignore', 'pipe'] })
      const ended = new Promise((resolve) => service.on('exit', resolve))
      const late = setTimeout(() => service.kill('SIGKILL'), withinMs)
      try {
        const url = await addressOf(service)
        for (const [method, path, body] of asked) await send(url + path, method, body)
      } finally {
        // Another signal would make the service kill its engine, which otherwise ends by itself.
        service.kill('SIGKILL')
        await ended
        clearTimeout(late)
        await engineEnded(withinMs)
      }
    }
  } finally {
    await fs.rm(directory, { recursive: true, force: true })
  }
}

async function send(url, method, body) {
  const headers = { 'X-API-KEY': token, ...(body && { 'Content-Type': 'application/json' }) }
  const response = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  await response.arrayBuffer()
}

/** Waits until a service says where it listens. */
async function addressOf(service) {
  let text = ''
  for await (const chunk of service.stderr) {
    text += chunk
    const url = /listening on (http:\S+)/.exec(text)?.[1]
    if (url) return url
  }
  throw new Error(`The service ended: ${text}`)
}
