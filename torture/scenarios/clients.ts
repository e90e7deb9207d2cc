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
  nothingSent,
  pipelines,
  slowBodies,
  slowHeaders,
} from '../fuzz/attacks.ts'
import { slowReaders } from '../fuzz/slow-readers.ts'
import { HttpCaller } from '../load/http-caller.ts'
import { comesTrue, loadTarget, percentile, residentMiB, stillRuns } from '../load/load-target.ts'
import { tenantsOf } from '../load/tenants.ts'
import type { Scenario } from '../support/scenario.ts'
import type { Target } from '../support/target.ts'

/** Attacks that mostly wait. They run in parallel for the whole scenario. */
const waiting: Record<string, Attack> = {
  'slow headers': slowHeaders,
  'silent connections': nothingSent,
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
const mayAddMiB = 900

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
    let over = false
    const bystander = stand(target, () => over)
    const attacked = async ([name, attack]: [string, Attack]) => {
      const result = await attack({ run, port }).catch((error) => ({ count: 0, faults: [String(error)] }))
      counts[name] = result.count
      for (const fault of [...new Set(result.faults)].slice(0, 5)) faults.push(`${name}: ${fault}`)
    }
    const lasting = Promise.all(Object.entries(waiting).map(attacked))
    for (const attack of Object.entries(working)) await attacked(attack)
    await lasting
    const worst = residentMiB(target)
    over = true
    const { served, refused, slowest } = await bystander
    if (!stillRuns(target)) return { counts, faults: [...faults, 'The service has ended.'] }
    for (const refusal of refused.slice(0, 5)) faults.push(`Another client was not served: ${refusal}`)
    // Closed connections are freed; a few keep-alive ones may remain.
    const free = await comesTrue(() => socketsOf(target) <= before.sockets + 20, 30_000)
    if (!free)
      faults.push(`${socketsOf(target)} sockets are open at the end; ${before.sockets} were open before.`)
    if (worst > before.memory + mayAddMiB) faults.push(`Memory grew from ${before.memory} to ${worst} MiB.`)
    return {
      counts: {
        ...counts,
        'other requests served': served,
        'slowest, ms': Math.round(slowest),
        'MiB before': before.memory,
        'MiB at the end': worst,
      },
      faults,
    }
  },
}

/** A well-behaved client that sends requests during all attacks. */
async function stand(target: Target, over: () => boolean) {
  // Its own token has its own share of the query slots.
  const { token } = await target.json<{ token: string }>('/api/access-tokens', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ description: 'bystander', scopes: ['query', 'ingest'] }),
  })
  const http = new HttpCaller(await target.url(), 2)
  const refused: string[] = []
  const times: number[] = []
  for (let index = 0; !over(); index++) {
    const body = '[{"event_message":"usual","project":"bystander"}]'
    const paths = ['/health', '/api/endpoints/query/torture.cached', '/api/logs?source=edge_logs']
    const path = paths[index % 3] as string
    const { status, text, ms } = await http.call({
      path,
      token,
      ...(index % 3 === 2 && { body }),
    })
    times.push(ms)
    if (status !== 200) refused.push(`${path}: ${status} ${text.slice(0, 200)}`)
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
