import { natively } from '../../../test/support/engines.ts'
import { diceOf } from '../../fuzz/dice.ts'
import { type ApiDocument, requestFuzzer } from '../../fuzz/fuzzed-request.ts'
import { checkResponse } from '../../fuzz/response-rules.ts'
import { Wire } from '../../fuzz/wire.ts'
import { engineRestarts, isRunning, loadTarget, residentMiB } from '../../load/load-target.ts'
import { tenantsOf } from '../../load/tenants.ts'
import type { Scenario, TortureRun } from '../../support/scenario.ts'
import { adminToken, type Target } from '../../support/target.ts'

const callers = 8

/** Longest time for the response to a complete request. */
const patienceMs = { framed: 120_000, broken: 100 } as const

/** Allowed growth of memory between the first third and the end, while caches and pools fill up to their limits. */
const growth = { factor: 1.5, addedMiB: 150 } as const

export const fuzzHttp: Scenario = {
  name: 'fuzz-http',
  title: 'mutated requests from the OpenAPI document get documented responses, and nothing breaks',
  async run(run) {
    const target = await loadTarget(run)
    const { tokens } = await tenantsOf(target)
    const before = await engineRestarts(target)
    const document = await target.json<ApiDocument>('/openapi.json')
    const next = requestFuzzer({
      document,
      dice: diceOf(run.random),
      tokens: [...Array.from({ length: 12 }, () => adminToken), ...tokens.values(), 'wh_wrong'],
      named,
      without: ['GET /api/backup'],
    })
    const statuses: Record<string, number> = {}
    const counts = { requests: 0, broken: 0, 'without a response': 0 }
    const faults: string[] = []
    const memory: number[] = []
    const total = run.cycles(natively(1_000_000, 10_000), 120)
    const port = Number(new URL(await target.url()).port)
    const fuzzing = async () => {
      let wire: Wire | undefined
      while (counts.requests < total && faults.length < 20) {
        counts.requests++
        if (counts.requests % Math.ceil(total / 30) === 0) memory.push(residentMiB(target))
        if (counts.requests % 10_000 === 0) run.say(`${counts.requests} of ${total} requests`)
        if (counts.requests % 500 === 1) await createObjects(target)
        const { operation, method, bytes, framed } = next()
        wire = wire && !wire.closed ? wire : await Wire.open(port)
        wire.write(bytes)
        const outcome = await wire.nextResponse(
          framed ? patienceMs.framed : patienceMs.broken,
          method === 'HEAD',
        )
        const fault = checkResponse(outcome, { framed, operation, method })
        if (fault !== undefined) {
          faults.push(
            `${operation}: ${fault} after ${JSON.stringify(bytes.toString('latin1').slice(0, 2000))}`,
          )
        }
        if (!framed) counts.broken++
        if (typeof outcome === 'string') counts['without a response']++
        else statuses[outcome.status] = (statuses[outcome.status] ?? 0) + 1
        const closing = typeof outcome === 'string' || outcome.headers.get('connection') === 'close'
        // The service would read the rest of a malformed request as the next request.
        if (!framed || closing) {
          wire.close()
          wire = undefined
        }
      }
      wire?.close()
    }
    await Promise.all(Array.from({ length: callers }, fuzzing))
    faults.push(...(await finalFaults(run, target, before, memory)))
    const restarts = (await engineRestarts(target)) - before
    const byStatus = Object.fromEntries(
      Object.entries(statuses).map(([status, n]) => [`status ${status}`, n]),
    )
    return {
      counts: { ...counts, ...byStatus, 'engine restarts': restarts, 'MiB at the end': memory.at(-1) ?? 0 },
      faults,
    }
  },
}

async function finalFaults(
  run: TortureRun,
  target: Target,
  restartsBefore: number,
  memory: readonly number[],
) {
  const faults: string[] = []
  if (!isRunning(target)) return ['The service has ended.']
  const restarts = (await engineRestarts(target)) - restartsBefore
  if (restarts > 0) faults.push(`The engine restarted ${restarts} times.`)
  const early = Math.max(0, ...memory.slice(0, Math.ceil(memory.length / 3)))
  const late = memory.at(-1) ?? 0
  // In a short run the caches are not full yet.
  if (run.size(1, 0) === 1 && late > early * growth.factor + growth.addedMiB) {
    faults.push(`Memory grew from ${early} MiB to ${late} MiB.`)
  }
  const health = await target.call('/api/endpoints/query/fuzz.steady')
  if (![200, 404].includes(health.status)) faults.push(`A valid request returned ${health.status}.`)
  return faults
}

/** Plausible values by name of the parameter or field, so that requests pass their first check. */
const named = {
  reference: [
    'logs.all',
    'usage.api-counts',
    'functions.invocation-stats',
    'fuzz.steady',
    'fuzz.sandbox',
    'fuzz.a',
  ],
  name: ['fuzz.a', 'fuzz.b', 'fuzz_source', 'edge_logs', 'auth_logs', 'fuzz.steady'],
  source: ['edge_logs', 'fuzz_source', 'auth_logs', 'cloudflare.logs.prod', 'quarantine'],
  source_name: ['edge_logs', 'nothing'],
  confirm: ['fuzz_source', 'edge_logs'],
  version: [1, 2, 3, 999],
  _version: [1, 2],
  interval: ['daily', '1day', 'minutely', '5min', 'never'],
  project: ['tenant-a', 'demo', '', '.*', '['],
  project_tier: ['FREE', 'PRO', 'x'],
  iso_timestamp_start: ['2026-01-01T00:00:00Z', '', '2026-01-01T00:00:00 02:00', '0001-01-01T00:00:00Z'],
  query: [
    'SELECT 1 AS one',
    'SELECT count() AS n FROM edge_logs WHERE project = @project',
    'SELECT id, timestamp FROM edge_logs LIMIT 5',
    'SELECT @a AS a, @b AS b',
    'SELECT nothing FROM edge_logs',
    "WITH v AS (SELECT * FROM edge_logs) SELECT * FROM v WHERE id != ''",
    'SELECT',
  ],
  sql: ['SELECT count() AS n FROM v', 'SELECT * FROM edge_logs', 'SELECT'],
  timeout_seconds: [1, 2],
  cache_seconds: [null, 1, 900],
  warm_seconds: [null, 1, 300],
  scopes: [['query'], ['ingest'], ['query:logs.all', 'ingest:edge_logs'], ['admin'], ['nothing']],
  requests_per_minute: [null, 1, 100_000],
  expected_version: [0, 1, 2],
  timestamp: ['2026-01-01T00:00:00Z', 1_767_225_600, 1_767_225_600_000_000, 'x', 1e300, -1],
  from: ['2026-01-01T00:00:00Z', 'x'],
  to: ['2027-01-01T00:00:00Z', 'x'],
  path: ['project', 'metadata.request.url', 'metadata.a.b', 'x', '`'],
  page: ['endpoints', 'sources', 'x'],
} as const

/** Creates what requests refer to. Some requests delete it, so this runs again from time to time. */
async function createObjects(target: Target): Promise<void> {
  const post = (path: string, body: unknown) =>
    target.call(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
  await post('/api/endpoints', { name: 'fuzz.steady', query: 'SELECT 1 AS one', cache_seconds: 5 })
  await post('/api/endpoints', {
    name: 'fuzz.sandbox',
    sandbox: true,
    query: 'WITH v AS (SELECT id, project FROM edge_logs) SELECT * FROM v',
  })
  await post('/api/sources', { name: 'fuzz_source' })
}
