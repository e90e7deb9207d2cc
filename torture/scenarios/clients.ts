import { readdirSync, readlinkSync } from 'node:fs'
import {
  type Attack,
  brokenFrames,
  cutOff,
  expectations,
  garbage,
  gzipBombs,
  halfClosed,
  hugeHeaders,
  idleConnections,
  pipelines,
  silentConnections,
  slowBodies,
  slowHeaders,
} from '../fuzz/attacks.ts'
import { slowReaders } from '../fuzz/slow-readers.ts'
import { HttpClient } from '../load/http-client.ts'
import { becomesTrue, isRunning, loadTarget, percentile, residentMiB } from '../load/load-target.ts'
import { tenantsOf } from '../load/tenants.ts'
import type { Scenario, TortureRun } from '../support/scenario.ts'
import type { Target } from '../support/target.ts'

/** Attacks that mostly wait. They run in parallel for the whole scenario. */
const waiting: Record<string, Attack> = {
  'slow headers': slowHeaders,
  'silent connections': silentConnections,
  'slow bodies': slowBodies,
  'idle connections': idleConnections,
  'slow readers': slowReaders,
}

/** Attacks that keep the service busy. They run one after the other; together they would test the machine. */
const working: Record<string, Attack> = {
  'half-closed': halfClosed,
  'huge headers': hugeHeaders,
  garbage,
  pipelines,
  'gzip bombs': gzipBombs,
  'cut off': cutOff,
  'wrong frames': brokenFrames,
  expectations,
}

/** Allowed growth of the service's memory. Bodies and responses in flight are limited to 256 MiB each. */
const allowedGrowthMiB = 900

export const clients: Scenario = {
  name: 'clients',
  title: 'slow and hostile clients are refused or closed in time while other clients are served',
  async run(run) {
    const target = await loadTarget(run)
    await tenantsOf(target)
    const port = Number(new URL(await target.url()).port)
    const before = { memory: residentMiB(target), sockets: socketsOf(target) }
    const counts: Record<string, number> = {}
    const faults: string[] = []
    let ended = false
    const bystander = runBystander(run, target, () => ended)
    const runAttack = async ([name, attack]: [string, Attack]) => {
      const result = await attack({ run, port }).catch((error) => ({ count: 0, faults: [String(error)] }))
      counts[name] = result.count
      for (const fault of [...new Set(result.faults)].slice(0, 5)) faults.push(`${name}: ${fault}`)
    }
    const waitingAttacks = Promise.all(Object.entries(waiting).map(runAttack))
    for (const attack of Object.entries(working)) await runAttack(attack)
    await waitingAttacks
    const after = residentMiB(target)
    ended = true
    const { served, refused, slowest } = await bystander
    if (!isRunning(target)) return { counts, faults: [...faults, 'The service has ended.'] }
    for (const refusal of refused.slice(0, 5)) faults.push(`Another client was not served: ${refusal}`)
    // Closed connections are freed; a few keep-alive ones may remain.
    const free = await becomesTrue(() => socketsOf(target) <= before.sockets + 20, 30_000)
    if (!free)
      faults.push(`${socketsOf(target)} sockets are open at the end; ${before.sockets} were open before.`)
    if (after > before.memory + allowedGrowthMiB)
      faults.push(`Memory grew from ${before.memory} to ${after} MiB.`)
    return {
      counts: {
        ...counts,
        'other requests served': served,
        'slowest, ms': Math.round(slowest),
        'MiB before': before.memory,
        'MiB at the end': after,
      },
      faults,
    }
  },
}

/** A well-behaved client that sends requests during all attacks. */
async function runBystander(run: TortureRun, target: Target, ended: () => boolean) {
  // Its own token has its own share of the query slots.
  const { token } = await target.json<{ token: string }>('/api/access-tokens', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ description: 'bystander', scopes: ['query', 'ingest'] }),
  })
  const http = new HttpClient(await target.url(), 2)
  const refused: string[] = []
  const times: number[] = []
  for (let index = 0; !ended(); index++) {
    const body = '[{"event_message":"usual","project":"bystander"}]'
    const paths = ['/health', '/api/endpoints/query/torture.cached', '/api/logs?source=edge_logs']
    const path = paths[index % 3] as string
    const { status, text, ms } = await http.send({
      path,
      token,
      ...(index % 3 === 2 && { body }),
    })
    times.push(ms)
    // The short form runs beside other tests, which may keep the machine busy for longer than a query waits.
    const isBusy = run.size(0, 1) === 1 && status === 503 && text.includes('"overloaded"')
    if (status !== 200 && !isBusy) refused.push(`${path}: ${status} ${text.slice(0, 200)}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  http.close()
  return { served: times.length - refused.length, refused, slowest: percentile(times, 100) }
}

function socketsOf({ pid }: Target): number {
  const directory = `/proc/${pid}/fd`
  return readdirSync(directory).filter((file) => {
    try {
      return readlinkSync(`${directory}/${file}`).startsWith('socket:')
    } catch {
      return false
    }
  }).length
}
