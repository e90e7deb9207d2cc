import { setTimeout as delay } from 'node:timers/promises'
import { openPlain } from '../faults/mounted-service.ts'
import { diceOf } from '../fuzz/dice.ts'
import { storedIds } from '../load/counting.ts'
import { MixedLoad } from '../load/mixed-load.ts'
import { waitUntil } from '../load/responses.ts'
import { patienceMs } from '../support/patience.ts'
import type { Scenario } from '../support/scenario.ts'
import type { Target } from '../support/target.ts'
import { waitForRecovery } from '../support/wait-for-recovery.ts'

const sources = ['edge_logs', 'auth_logs'] as const
const stored = 20
const victims = ['both', 'service', 'engine'] as const

/** What is asked of a project's entries, as the body of the request and as a rule for each of them. */
interface Request {
  body: Record<string, unknown>
  isErased: (source: string, index: number) => boolean
  isRejectedErased: boolean
}

interface ShownErasure {
  id: string
  state: string
}

export const erasures: Scenario = {
  name: 'erasures',
  title:
    'exactly the entries that were asked for are gone when service and engine are killed while others send',
  async run(run) {
    const rounds = run.cycles(100, 4)
    const { target } = await run.share('disk', openPlain)
    const dice = diceOf(run.random)
    const counts = { erasures: 0, kills: 0, 'kills before the response': 0 }
    const faults: string[] = []
    const project = 'erase-others'
    // Of a service that nobody disturbs; the first one is measured.
    let takesMs = 1_000
    return MixedLoad.during(
      // An erasure takes seconds, whatever else the service has to do.
      {
        ...{ target, project, senders: run.size(4, 2), deploying: false },
        ...{ merging: true, pauseMs: run.size(0, 300) },
      },
      async (load) => {
        for (let round = 0; round < rounds; round++) {
          await load.waitForBatches(1, patienceMs)
          const asked = `erase-${run.seed}-${round}`
          const near = `${asked}%`
          for (const each of [asked, near]) await sendAll(target, each)
          const request = requestOf(asked, dice.below(4))
          const victim = round === 0 ? 'none' : victims[round % victims.length]
          const began = performance.now()
          const begun = begin(target, request).catch(() => undefined)
          if (victim !== 'none') {
            await delay(run.random() * 1.5 * takesMs)
            counts.kills++
            const { enginePid } = target
            if (victim !== 'service' && enginePid !== undefined) process.kill(enginePid, 'SIGKILL')
            if (victim !== 'engine') {
              await target.kill()
              target.start()
            }
            await waitForRecovery(target, patienceMs)
          }
          let id = await begun
          if (id === undefined) {
            counts['kills before the response']++
            id = (await known(target, asked)) ?? (await begin(target, request))
          }
          // Nobody sees them from the response on, and none of the others is missing.
          const wrong = await differences(target, asked, near, request)
          await waitUntil(
            'the erasure to be done',
            async () => (await stateOf(target, id)) === 'done',
            patienceMs,
          )
          if (round === 0) takesMs = performance.now() - began
          wrong.push(...(await differences(target, asked, near, request)))
          counts.erasures++
          faults.push(
            ...wrong.map((fault) => `round ${round}, ${victim}, ${JSON.stringify(request.body)}: ${fault}`),
          )
          if (round % 10 === 9) run.say(`${round + 1} erasures`)
        }
        const { counts: sent, faults: wrong } = await load.stop()
        faults.push(...wrong, ...load.ledger.faults(await storedIds(target, project)))
        return { counts: { ...counts, ...sent }, faults }
      },
    )
  },
}

function requestOf(project: string, kind: number): Request {
  const ids = [1, 3, 5].map((index) => idOf(project, index))
  if (kind === 0) {
    const body = { project, source: sources[0] }
    return { body, isErased: (source) => source === sources[0], isRejectedErased: true }
  }
  if (kind === 1) {
    return {
      body: { project, ids },
      isErased: (_, index) => [1, 3, 5].includes(index),
      isRejectedErased: false,
    }
  }
  if (kind === 2) {
    const to = timeOf(stored / 2)
    return { body: { project, to }, isErased: (_, index) => index > stored / 2, isRejectedErased: false }
  }
  return { body: { project }, isErased: () => true, isRejectedErased: true }
}

/** An hour apart, so that they are in several partitions. Counted from a time that rounds share. */
const timeOf = (index: number) => new Date(startMs - index * 3_600_000).toISOString()
const startMs = Date.now() - 3_600_000
const idOf = (project: string, index: number) => `${project} ${index}`

/** Entries of two sources, and one that is rejected. */
async function sendAll(target: Target, project: string): Promise<void> {
  const entries = Array.from({ length: stored }, (_, index) => ({
    ...{ project, id: idOf(project, index), timestamp: timeOf(index) },
  }))
  for (const source of sources) {
    const rejected = source === sources[0] ? [{ project, id: idOf(project, -1), timestamp: 'no time' }] : []
    const body = JSON.stringify([...entries, ...rejected])
    await untilStored(target, source, body, `${project} ${source}`)
  }
}

/** With a key, so that a repetition stores nothing twice. */
async function untilStored(target: Target, source: string, body: string, key: string): Promise<void> {
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': key }
  await waitUntil(
    `entries of ${key} to be stored`,
    async () => {
      const sent = target.call(`/api/logs?source=${source}`, { method: 'POST', body, headers })
      return (await sent.catch(() => undefined))?.status === 200
    },
    patienceMs,
  )
}

async function begin(target: Target, { body }: Request): Promise<string> {
  const headers = { 'Content-Type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  return (await target.json<ShownErasure>('/api/erasures', init)).id
}

async function known(target: Target, project: string): Promise<string | undefined> {
  const all = await target.json<(ShownErasure & { project: string })[]>('/api/erasures')
  return all.find((erasure) => erasure.project === project)?.id
}

async function stateOf(target: Target, id: string): Promise<string> {
  return (await target.json<ShownErasure>(`/api/erasures/${id}`)).state
}

/** What is there beside what should be. */
async function differences(target: Target, asked: string, near: string, request: Request): Promise<string[]> {
  const faults: string[] = []
  for (const source of sources) {
    for (const project of [asked, near]) {
      const expected = Array.from({ length: stored }, (_, index) => index)
        .filter((index) => project === near || !request.isErased(source, index))
        .map((index) => `${idOf(project, index)} ×1`)
      const sql = `SELECT id, toUInt32(count()) AS n FROM ${source} WHERE project = '${project}' GROUP BY id`
      const found = (await rowsOf<{ id: string; n: number }>(target, sql)).map(({ id, n }) => `${id} ×${n}`)
      const [missing, extra] = [without(expected, found), without(found, expected)]
      if (missing.length > 0) faults.push(`${source} lacks ${missing.slice(0, 5).join(', ')}`)
      if (extra.length > 0) faults.push(`${source} still has ${extra.slice(0, 5).join(', ')}`)
    }
  }
  for (const project of [asked, near]) {
    const text = `'"id":"${idOf(project, -1)}"'`
    const sql = `SELECT toUInt32(count()) AS n FROM quarantine WHERE position(event_message, ${text}) > 0`
    const [row] = await rowsOf<{ n: number }>(target, sql)
    const expected = project === near || !request.isRejectedErased ? 1 : 0
    if (row?.n !== expected) faults.push(`the quarantine has ${row?.n} instead of ${expected} of ${project}`)
  }
  return faults
}

async function rowsOf<Row>(target: Target, query: string): Promise<Row[]> {
  const headers = { 'Content-Type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify({ query }) }
  return (await target.json<{ result: Row[] }>('/api/sql', init)).result
}

function without(all: readonly string[], others: readonly string[]): string[] {
  const found = new Set(others)
  return all.filter((each) => !found.has(each))
}
