import { setTimeout as delay } from 'node:timers/promises'
import { openPlain } from '../faults/mounted-service.ts'
import { type Dice, diceOf } from '../fuzz/dice.ts'
import { storedIds } from '../load/counting.ts'
import { MixedLoad } from '../load/mixed-load.ts'
import { waitUntil } from '../load/responses.ts'
import { patienceMs } from '../support/patience.ts'
import type { Scenario } from '../support/scenario.ts'
import type { Target } from '../support/target.ts'
import { waitForRecovery } from '../support/wait-for-recovery.ts'

const sources = ['edge_logs', 'auth_logs'] as const
const stored = 20
/** Entries with a time ahead of the clock have these indices, and those of senders that do not stop are like them. */
const ahead = [-2, -3, -4]
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
    const counts = {
      ...{ erasures: 0, kills: 0, 'kills before the response': 0 },
      'entries of the project acknowledged meanwhile': 0,
    }
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
          const request = requestOf(asked, round === 0 ? 3 : dice.below(4))
          await EndlessSenders.during(target, asked, { senders: run.size(20, 4), dice }, async (senders) => {
            await waitUntil(
              'entries to be acknowledged',
              async () => senders.acknowledged.before.length > 3,
              patienceMs,
            )
            senders.phase = 'during'
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
            // Without a response, nobody knows which entries are later ones.
            if (id !== undefined) senders.phase = 'after'
            else {
              counts['kills before the response']++
              id = (await known(target, asked)) ?? (await begin(target, request))
            }
            // Nobody sees them from the response on, and none of the others is missing.
            const wrong = await differences(target, asked, near, request)
            wrong.push(...(await senders.faults(request)))
            await waitUntil(
              'the erasure to be done',
              async () => (await stateOf(target, id)) === 'done',
              patienceMs,
            )
            if (round === 0) takesMs = performance.now() - began
            senders.phase = 'after'
            wrong.push(...(await senders.faults(request)))
            await senders.stop()
            wrong.push(...(await senders.faults(request)))
            wrong.push(...(await differences(target, asked, near, request)))
            counts['entries of the project acknowledged meanwhile'] += senders.acknowledged.after.length
            counts.erasures++
            faults.push(
              ...wrong.map((fault) => `round ${round}, ${victim}, ${JSON.stringify(request.body)}: ${fault}`),
            )
          })
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
const timeOf = (index: number) =>
  new Date(index < 0 ? aheadMs(index) : startMs - index * 3_600_000).toISOString()
/** An entry may be an hour ahead. */
const aheadMs = (index: number) => Date.now() - index * 800_000
const startMs = Date.now() - 3_600_000
const indices = [...Array.from({ length: stored }, (_, index) => index), ...ahead]
const idOf = (project: string, index: number) => `${project} ${index}`

/** Entries of two sources, and one that is rejected. */
async function sendAll(target: Target, project: string): Promise<void> {
  const entries = indices.map((index) => ({
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
      const expected = indices
        .filter((index) => project === near || !request.isErased(source, index))
        .map((index) => `${idOf(project, index)} ×1`)
      const sql = `SELECT id, toUInt32(count()) AS n FROM ${source} WHERE project = '${project}' AND NOT endsWith(id, '${live}') GROUP BY id LIMIT 1000`
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

/** The end of ids of `EndlessSenders`. */
const live = ' sent meanwhile'

type Phase = 'before' | 'during' | 'after'

/** Send single entries of a project, up to an hour ahead of the clock or behind it, until they are stopped. */
class EndlessSenders {
  /** Of the erasure: not requested yet, not accepted yet, or accepted. */
  phase: Phase = 'before'
  /** By the phase in which they were sent and acknowledged; if that changed between, `during`. */
  readonly acknowledged: Record<Phase, { source: string; id: string }[]> = {
    before: [],
    during: [],
    after: [],
  }
  readonly #target: Target
  readonly #project: string
  readonly #senders: Promise<unknown>
  #next = 0
  #isStopped = false

  private constructor(target: Target, project: string, { senders, dice }: { senders: number; dice: Dice }) {
    this.#target = target
    this.#project = project
    this.#senders = Promise.all(Array.from({ length: senders }, () => this.#send(dice)))
  }

  /** Runs them until the work ends or stops them. */
  static async during(
    target: Target,
    project: string,
    options: { senders: number; dice: Dice },
    work: (senders: EndlessSenders) => Promise<void>,
  ): Promise<void> {
    const senders = new EndlessSenders(target, project, options)
    try {
      await work(senders)
    } finally {
      senders.#isStopped = true
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#senders
  }

  /** What the next query shows although it was erased, or does not show although it was acknowledged later. */
  async faults(request: Request): Promise<string[]> {
    const faults: string[] = []
    const { before, after } = this.acknowledged
    const known = { before: [...before], after: [...after] }
    for (const source of sources) {
      const isErased = request.isErased(source, ahead[0] as number)
      const sql = `SELECT groupArray(id) AS ids FROM ${source} WHERE project = '${this.#project}' AND endsWith(id, '${live}')`
      const found = new Map<string, number>()
      const [row] = await rowsOf<{ ids: string[] }>(this.#target, sql)
      for (const id of row?.ids ?? []) found.set(id, (found.get(id) ?? 0) + 1)
      const idsOf = (all: typeof before) => all.filter((each) => each.source === source).map(({ id }) => id)
      const lost = idsOf(isErased ? known.after : [...known.before, ...known.after]).filter(
        (id) => found.get(id) !== 1,
      )
      const kept = isErased ? idsOf(known.before).filter((id) => found.has(id)) : []
      if (lost.length > 0) faults.push(`${source} lacks ${lost.length} later entries, such as ${lost[0]}`)
      if (kept.length > 0)
        faults.push(`${source} still has ${kept.length} earlier entries, such as ${kept[0]}`)
    }
    return faults
  }

  async #send(dice: Dice): Promise<void> {
    while (!this.#isStopped) {
      const [began, id] = [this.phase, `${this.#project} ${this.#next++}${live}`]
      const source = dice.pick(sources)
      const timestamp = new Date(Date.now() + (2 * dice.below(3_500) - 3_500) * 1_000).toISOString()
      const body = JSON.stringify([{ project: this.#project, id, timestamp }])
      const init = { method: 'POST', body, headers: { 'Content-Type': 'application/json' } }
      const response = await this.#target.call(`/api/logs?source=${source}`, init).catch(() => undefined)
      await response?.arrayBuffer().catch(() => {})
      if (response?.status !== 200) await delay(10)
      else this.acknowledged[began === this.phase ? began : 'during'].push({ source, id })
    }
  }
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
