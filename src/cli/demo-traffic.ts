import { setTimeout as pause } from 'node:timers/promises'

/** Projects of the demo, from a busy one to a quiet one. */
export const demoProjects = ['acmeshopprodabcdefgh', 'bluebirdnotesqwertyu', 'cityguideprojectzxcv'] as const

export interface DemoOptions {
  url: string
  token: string
  now: () => number
  signal: AbortSignal
  /** Told once the history is there. */
  onFilled: (entries: number) => void
}

interface Sample {
  source: string
  entry: Record<string, unknown>
}

const day = 86_400_000
const historyPerProject = [1_500, 700, 200]
const batchSize = 1_000
const livePauseMs = 1_000

const pick = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)] as T

const paths = [
  '/rest/v1/orders',
  '/rest/v1/customers',
  '/storage/v1/object/images',
  '/auth/v1/token',
  '/realtime/v1/websocket',
]

function edge(project: string, timestamp: number): Sample {
  const path = pick(paths)
  const url = `https://${project}.example.com${path}`
  const status = Math.random() < 0.05 ? pick([400, 401, 404, 500]) : 200
  return {
    source: 'edge_logs',
    entry: {
      project,
      timestamp,
      event_message: `GET | ${status} | ${url}`,
      metadata: {
        request: { method: 'GET', url, path, host: `${project}.example.com` },
        response: { status_code: status, origin_time: Math.round(Math.random() * 200) },
      },
    },
  }
}

function invocation(project: string, timestamp: number): Sample {
  const failed = Math.random() < 0.04
  return {
    source: 'function_edge_logs',
    entry: {
      timestamp,
      event_message: `POST | ${failed ? 500 : 200} | hello`,
      metadata: {
        project_ref: project,
        function_id: pick(['checkout', 'thumbnail', 'hello']),
        deployment_id: `${project}_1`,
        execution_time_ms: Math.round(20 + Math.random() ** 4 * 2_000),
        response: { status_code: failed ? 500 : 200 },
      },
    },
  }
}

const messages: Record<string, readonly string[]> = {
  postgres_logs: [
    'connection authorized',
    'checkpoint complete',
    'duplicate key value violates unique constraint',
  ],
  function_logs: ['booted', 'handled request', 'shutdown'],
  auth_logs: ['user signed in', 'token refreshed', 'invalid password'],
  realtime_logs: ['channel joined', 'client disconnected'],
  storage_logs: ['object created', 'object read'],
  postgrest_logs: ['schema cache loaded', 'connection pool released'],
  pgbouncer_logs: ['login attempt', 'closing because: client close request'],
}

function other(project: string, timestamp: number): Sample {
  const source = pick(Object.keys(messages))
  return { source, entry: { project, timestamp, event_message: pick(messages[source] ?? []), metadata: {} } }
}

function sample(project: string, timestamp: number): Sample {
  return pick([edge, edge, edge, invocation, other])(project, timestamp)
}

/** Fills seven days of history through the front door, then goes on live until it is told to stop. */
export async function runDemo(options: DemoOptions): Promise<void> {
  const { now, signal } = options
  const history = demoProjects.flatMap((project, i) =>
    Array.from({ length: historyPerProject[i] ?? 100 }, (_, n) =>
      // Half of it in the last hour, so that every interval shows something.
      sample(project, now() - Math.floor(Math.random() * (n % 2 === 0 ? 7 * day : day / 24))),
    ),
  )
  await send(options, history)
  options.onFilled(history.length)
  while (!signal.aborted) {
    await pause(livePauseMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    await send(
      options,
      demoProjects.flatMap((project) => (Math.random() < 0.7 ? [sample(project, now())] : [])),
    ).catch(
      // The next second is as good as this one.
      () => {},
    )
  }
}

async function send({ url, token, signal }: DemoOptions, samples: Sample[]): Promise<void> {
  const bySource = new Map<string, unknown[]>()
  for (const { source, entry } of samples) bySource.set(source, [...(bySource.get(source) ?? []), entry])
  for (const [source, entries] of bySource) {
    for (let from = 0; from < entries.length; from += batchSize) {
      const response = await fetch(`${url}/api/logs?source=${source}`, {
        method: 'POST',
        headers: { 'X-API-KEY': token },
        body: JSON.stringify(entries.slice(from, from + batchSize)),
        signal,
      })
      if (!response.ok) throw new Error(`Sample traffic was refused with ${response.status}.`)
    }
  }
}
