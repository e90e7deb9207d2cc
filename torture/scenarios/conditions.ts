import { openEvents } from '../../test/support/network/event-reader.ts'
import { engineRestarts, loadTarget, median } from '../load/load-target.ts'
import { isSlower, longestDelay, quietDelay } from '../load/longest-delay.ts'
import type { Scenario } from '../support/scenario.ts'
import { adminToken, type Target } from '../support/target.ts'

const source = 'conditions'

/** Streams of one token, and the entries that they read. Every query also matches the last entry. */
interface LiveAttack {
  streams: number
  query: (stream: number) => string
  entries: (count: number) => object[]
}

const twenty = (condition: (n: number) => string) =>
  Array.from({ length: 18 }, (_, n) => condition(n)).join(' OR ')
const digits = '1'.repeat(50_000)

/** An entry with so many members, each a little different. */
const wide = (n: number) => ({
  metadata: Object.fromEntries(
    Array.from({ length: 4_900 }, (_, i) => [`key${i}`, `value ${n} of ${i}, ÄÖÜ`]),
  ),
})

/** Containers in containers: the text of each is nearly as long as the entry. */
const nested = () => {
  let metadata: object = { long: 'Ä'.repeat(400_000) }
  for (let depth = 0; depth < 18; depth++) metadata = { a: metadata }
  return { metadata }
}

const attacks: Record<string, LiveAttack> = {
  'a number of 50,000 digits': {
    streams: 1,
    query: () => 'status_code:>=500',
    entries: (count) => Array.from({ length: count }, () => ({ metadata: { status_code: `${digits}x` } })),
  },
  '20 conditions on wide entries': {
    streams: 5,
    query: (stream) => twenty((n) => `key${n * 250 + stream}:*x*`),
    entries: (count) => Array.from({ length: count }, (_, n) => wide(n)),
  },
  '20 conditions on nested containers': {
    streams: 5,
    query: () =>
      twenty(
        (n) =>
          `${Array(n + 1)
            .fill('a')
            .join('.')}:*ß*`,
      ),
    entries: (count) => Array.from({ length: count }, nested),
  },
  'a text that nearly occurs everywhere': {
    streams: 5,
    query: (stream) => `*${'a'.repeat(2_000)}b${'a'.repeat(2_000 + stream)}*`,
    entries: (count) => Array.from({ length: count }, () => ({ event_message: 'a'.repeat(1_000_000) })),
  },
}

const searches: Record<string, string> = {
  'a range of 4.8 KB': `x:${'1'.repeat(2_400)}..${'1'.repeat(2_400)}x`,
  'a search of spaces': `x${' '.repeat(4_800)}y`,
  'a search of brackets': '('.repeat(4_800),
}

/** Costs nothing to check. */
const plainQuery = 'id:none'

/** Measures a part of a load. */
type Measure = (part: string, work: () => Promise<unknown>) => Promise<void>

export const conditions: Scenario = {
  name: 'conditions',
  title: 'no search and no live condition delays other requests',
  async run(run) {
    const target = await loadTarget(run)
    await target.call('/api/sources', jsonOf({ name: source }))
    const url = await target.url()
    const faults: string[] = []
    const counts: Record<string, number> = { 'without a load, slowest ms': await quietDelay(run, target) }
    // The short form checks no times, because other tests run in parallel.
    const isTimed = run.size(1, 0) === 1
    const rounds = run.cycles(5, 1)
    const compare = async (name: string, load: (measure: Measure, query?: string) => Promise<void>) => {
      const attackDelays = new Map<string, number[]>()
      const usualDelays = new Map<string, number[]>()
      const measureInto =
        (delays: Map<string, number[]>): Measure =>
        async (part, work) => {
          delays.set(part, [...(delays.get(part) ?? []), await longestDelay(run, url, work)])
        }
      for (let round = 0; round < rounds; round++) {
        if (isTimed) await load(measureInto(usualDelays), plainQuery)
        await load(measureInto(attackDelays))
      }
      for (const [part, delays] of attackDelays) {
        const usual = usualDelays.get(part) ?? []
        const title = `${name}${part}`
        counts[`${title}, slowest ms`] = Math.min(...delays)
        run.say(`${title}: slowest other request ${delays.join()} ms; without a condition ${usual.join()} ms`)
        if (isTimed && isSlower(delays, usual)) {
          faults.push(
            `${title}: another request took at least ${Math.min(...delays)} ms, and ${median(usual)} ms without a condition`,
          )
        }
      }
    }
    for (const [name, attackQuery] of Object.entries(searches)) {
      await compare(name, (measure, query = attackQuery) =>
        measure('', async () => {
          const { status } = await target.call(`/api/sources/${source}/search`, jsonOf({ query }))
          if (status !== 200 && status !== 400) faults.push(`${name}: ${status}`)
        }),
      )
    }
    for (const [name, attack] of Object.entries(attacks)) {
      const entries = attack.entries(run.size(20, 2))
      await compare(name, async (measure, query) => {
        const chosen = query === undefined ? attack : { ...attack, query: () => query }
        const follow = (last?: string) => followers(target, chosen, last)
        const streams = await follow()
        let first: string | undefined
        const readAll = async (readers: Awaited<ReturnType<typeof follow>>) => {
          const ends = await Promise.all(readers.map((reader) => reader.untilLast()))
          for (const end of ends) if (end === 'ended') faults.push(`${name}: a stream ended`)
        }
        await measure('', async () => {
          first = await sendEntries(target, streams, entries)
          await readAll(streams)
        })
        await measure(', resumed', async () => {
          const resumed = await follow(first)
          await readAll(resumed)
          for (const { close } of resumed) close()
        })
        for (const { close } of streams) close()
      })
    }
    counts['engine restarts'] = await engineRestarts(target)
    return { counts, faults: [...new Set(faults)] }
  },
}

function jsonOf(body: unknown): RequestInit {
  return { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
}

async function followers(target: Target, { streams, query }: LiveAttack, last?: string) {
  const url = await target.url()
  const open = async (_: unknown, stream: number) => {
    const search = new URLSearchParams({ query: `id:first OR id:last OR (${query(stream)})` })
    const headers = last === undefined ? undefined : { 'Last-Event-ID': last }
    const reader = await openEvents(`${url}/api/sources/${source}/tail?${search}`, adminToken, headers)
    if (reader.status !== 200) throw new Error(`Following a source returned ${reader.status}.`)
    const until = async (id: string) => {
      for (;;) {
        const event = await reader.next()
        if (event === undefined) return 'ended'
        if (event.event === 'entry' && JSON.parse(event.data).id === id) return event.id
      }
    }
    return { close: reader.close, untilFirst: () => until('first'), untilLast: () => until('last') }
  }
  return Promise.all(Array.from({ length: streams }, open))
}

/** Returns the id of the event from which a stream can resume. */
async function sendEntries(
  target: Target,
  streams: Awaited<ReturnType<typeof followers>>,
  entries: object[],
) {
  const send = (body: unknown) => target.json(`/api/logs?source=${source}`, jsonOf(body))
  await send({ id: 'first' })
  const [first] = await Promise.all(streams.map((stream) => stream.untilFirst()))
  // A body has at most 12 MiB.
  for (const entry of entries) await send(entry)
  await send({ id: 'last' })
  return first
}
