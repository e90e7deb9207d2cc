import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { openPlain } from '../faults/mounted-service.ts'
import { storedIds } from '../load/counting.ts'
import { MixedLoad } from '../load/mixed-load.ts'
import { summaryOf, waitUntil } from '../load/responses.ts'
import { patienceMs } from '../support/patience.ts'
import type { Scenario } from '../support/scenario.ts'
import type { Target } from '../support/target.ts'
import { waitForRecovery } from '../support/wait-for-recovery.ts'

const project = 'descriptors'

export const descriptors: Scenario = {
  name: 'descriptors',
  title: 'service and engine serve what they can without file descriptors, and recover when there are some',
  needs: () => (spawnSync('prlimit', ['--version']).error ? 'needs prlimit (Debian: util-linux)' : undefined),
  async run(run) {
    const rounds = run.cycles(10, 1)
    const { target } = await run.share('disk', openPlain)
    return MixedLoad.during({ target, project, senders: 4, deploying: false }, async (load) => {
      const faults: string[] = []
      let refused = 0
      for (let round = 0; round < rounds; round++) {
        await load.waitForBatches(2, patienceMs)
        refused += await fillConnections(target)
        await load.waitForBatches(2, patienceMs)

        const engine = target.enginePid as number
        const before = load.countResponses((status) => status.startsWith('503'))
        const limit = limitDescriptors(engine, 0)
        // Either logs are refused or the engine ends.
        await load.waitFor(
          () =>
            load.countResponses((status) => status.startsWith('503')) > before || target.enginePid !== engine,
          patienceMs,
          'no log was refused',
        )
        const path = `/api/endpoints/query/torture.cached-count?project=${project}`
        const { status, code } = await summaryOf(target.call(path))
        if (status !== 200) faults.push(`a cached query without descriptors: ${status} ${code}`)
        limit.lift()
        await waitForRecovery(target, patienceMs)
        await load.waitForBatches(2, patienceMs)
      }
      const { counts, faults: wrong } = await load.stop()
      faults.push(
        ...wrong,
        ...load.unexpected(['0', '200', '503 engine_unavailable', '503 overloaded']),
        ...load.ledger.faults(await storedIds(target, project)),
      )
      return {
        counts: {
          'connections refused': refused,
          'logs refused with 503': load.countResponses((status) => status.startsWith('503')),
          ...counts,
        },
        faults,
      }
    })
  },
}

/** Uses up the descriptors of the service. Existing connections must still be served. */
async function fillConnections(target: Target): Promise<number> {
  const url = new URL(await target.url())
  const limit = limitDescriptors(target.pid, 20)
  const sockets: Socket[] = []
  let refused = 0
  try {
    await waitUntil(
      'connections to be refused',
      async () => {
        const socket = connect(Number(url.port), url.hostname)
        socket.on('error', () => {})
        socket.on('close', () => {
          refused++
        })
        sockets.push(socket)
        return refused > 0 && sockets.length > 40
      },
      patienceMs,
      5,
    )
  } finally {
    limit.lift()
    for (const socket of sockets) socket.destroy()
  }
  await waitUntil('connections to be accepted', async () => (await freshHealth(url)) === 200, patienceMs)
  return refused
}

async function freshHealth(url: URL): Promise<number> {
  const { status } = await summaryOf(fetch(new URL('/health', url), { headers: { Connection: 'close' } }))
  return status
}

/** Allows a process `left` more descriptors than it has open. */
function limitDescriptors(pid: number, left: number): { lift(): void } {
  const line = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number))
  // The limit applies to descriptor numbers, and unused numbers below it remain available.
  let limit = 0
  for (let free = 0; free < left || open.has(limit); limit++) if (!open.has(limit)) free++
  const set = (soft: number | string) =>
    execFileSync('prlimit', ['--pid', String(pid), `--nofile=${soft}:`], { stdio: 'ignore' })
  set(limit)
  return {
    lift: () => {
      try {
        set(line?.[1] ?? 1024)
      } catch {
        // The process may have ended.
      }
    },
  }
}
