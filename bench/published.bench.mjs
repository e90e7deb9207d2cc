/**
 * The lines and the seven queries of "Quickwit vs Loki" (quickwit-oss/benchmarks), in processor time of service and engine
 * beside the published figures.
 *
 * BENCH_ROWS: number of lines.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { publishedColumns, regions, wantedWord } from './published/lines.mjs'
import { atTheEnd } from './support/at-the-end.mjs'
import { numberFrom } from './support/figures.mjs'
import { openClient } from './support/http-client.mjs'
import { command } from './support/measured-tables.mjs'
import { cpuMs } from './support/processes.mjs'
import { comparison } from './support/result.mjs'
import { openService } from './support/service.mjs'

const seed = 20_261_118
const source = 'published'
const region = regions[0]
const publishedLines = 243_500_000
/** In each round: the system counts processor time in steps of 10 ms. */
const requestsInARow = 3
/** Time that the lines cover at most. */
const spanMs = 2 * 3_600_000

const ofRegion = `cloud.region:${region}`

/** Processor seconds that were published for all lines, and the most that Wellhead should take for as many. */
const volumes = [
  { name: 'volume by level', query: '', quickwit: 22, loki: 1_151, atMost: 20 },
  { name: `volume of lines with ${wantedWord}`, query: wantedWord, quickwit: 3.2, loki: 8_688, atMost: 100 },
  { name: 'volume of one region', query: ofRegion, quickwit: 2.9, loki: 41, atMost: 15 },
  {
    name: `volume of one region with ${wantedWord}`,
    query: `${ofRegion} ${wantedWord}`,
    quickwit: 2.9,
    loki: 337,
    atMost: 80,
  },
  // Half a second for four million lines.
  { name: 'volume of lines with a word that none has', query: 'zzqqxy', atMost: 30 },
]
const pages = [
  { name: `last 100 with ${wantedWord}`, query: wantedWord, quickwit: 2.9, loki: 229 },
  { name: 'last 100 of one region', query: ofRegion, quickwit: 2.8, loki: 2 },
  {
    name: `last 100 of one region with ${wantedWord}`,
    query: `${ofRegion} ${wantedWord}`,
    quickwit: 3,
    loki: 10,
    atMost: 0.15,
  },
]

export const about = 'the lines and queries of Quickwit vs Loki'

export async function run({ engineNode, patience, choose }) {
  const rows = numberFrom('BENCH_ROWS', choose({ full: 1_000_000, quick: 10_000, emulated: 20_000 }))
  const rounds = choose({ full: 3, quick: 2 })
  const service = await openService({ engineNode, patience })
  const client = openClient({ url: service.url, token: service.adminToken.token, connections: 1 })
  const post = (path, body) => {
    const headers = { 'Content-Type': 'application/json' }
    return client.call(path, { method: 'POST', headers, body: JSON.stringify(body) })
  }
  const usedMs = () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000 + cpuMs(service.engine.pid)
  }
  try {
    await post('/api/sources', { name: source, columns: publishedColumns })
    const startMs = Date.now() - spanMs - 60_000
    const stepMicros = Math.max(1, Math.min(1_000, Math.floor((spanMs * 1000) / rows)))
    const sending = await send(service, usedMs, { rows, startMs, stepMicros, patience })
    const range = { from: new Date(startMs).toISOString(), to: new Date(startMs + spanMs).toISOString() }
    const secondsOf = async (work) => {
      // The first run reads from disk, and compiles.
      const seconds = []
      for (let round = 0; round <= rounds; round++) {
        const before = usedMs()
        for (let i = 0; i < requestsInARow; i++) await work()
        if (round > 0) seconds.push((usedMs() - before) / 1000 / requestsInARow)
      }
      return seconds
    }
    const beside = ({ name, quickwit, loki, atMost }, unit, seconds) =>
      comparison({
        name,
        unit,
        sides: {
          Wellhead: seconds,
          ...(quickwit && { 'Quickwit, published': [quickwit], 'Loki, published': [loki] }),
        },
        over: false,
        ...(atMost && { aim: { atMost } }),
      })
    const queries = []
    for (const volume of volumes) {
      const body = { ...range, query: volume.query, by: 'level', buckets: 60 }
      const measured = await secondsOf(() => post(`/api/sources/${source}/histogram`, body))
      queries.push(
        beside(
          volume,
          'core-seconds, scaled',
          measured.map((seconds) => (seconds * publishedLines) / rows),
        ),
      )
    }
    for (const page of pages) {
      const body = { ...range, query: page.query, limit: 100 }
      queries.push(
        beside(page, 'core-seconds', await secondsOf(() => post(`/api/sources/${source}/search`, body))),
      )
    }
    const { sources } = JSON.parse(await client.call('/api/usage'))
    const { bytes, entries } = sources.find(({ name }) => name === source)
    if (entries !== rows) throw new Error(`${entries} lines are stored, but ${rows} were sent.`)
    return {
      tables: [
        {
          id: 'sending',
          title: `Sending ${rows} lines of Quickwit vs Loki`,
          compares: 'Lines for each second of processor time of service and engine, and bytes on disk.',
          rows: [
            ...sending,
            comparison({
              name: 'on disk',
              unit: 'bytes a line',
              sides: { Wellhead: [bytes / rows], 'Quickwit, published': [234], 'Loki, published': [242] },
              over: false,
              aim: { atMost: 234 },
            }),
          ],
        },
        {
          id: 'queries',
          title: `The seven queries over ${rows} lines`,
          compares:
            'Seconds of processor time of service and engine. Volumes are scaled to the 243,500,000 published lines; pages stop early and are not.',
          rows: queries,
        },
      ],
      notes: [
        'Not comparable: the published runs read object storage, had a larger machine and 243.5 million lines of 872 bytes; ' +
          'these lines have 841 bytes, come from a generator with the same shape and lie on a local disk.',
      ],
    }
  } finally {
    client.close()
    await service.close()
  }
}

/** Sends a part without merges and the rest with them, until the engine has merged what it wants to. */
async function send(service, usedMs, { rows, startMs, stepMicros, patience }) {
  const sender = fork(fileURLToPath(new URL('published/sender.mjs', import.meta.url)), { execArgv: [] })
  const kill = atTheEnd(() => sender.kill('SIGKILL'))
  const lines = { url: service.url, token: service.adminToken.token, source, seed, startMs, stepMicros }
  const sendPart = async (from, count) => {
    sender.send({ ...lines, from, count })
    const [{ failed }] = await once(sender, 'message')
    if (failed !== undefined) throw new Error(failed)
  }
  try {
    const before = usedMs()
    const warmUp = Math.ceil(rows / 20)
    await sendPart(0, warmUp)
    await command(service.engine, `SYSTEM STOP MERGES wellhead.${source}`)
    const part = Math.ceil(rows / 15)
    const rateOf = (count, ms) => (1000 * count) / ms
    const withoutMerges = []
    let sent = warmUp
    for (let round = 0; round < 3; round++) {
      const stopped = usedMs()
      await sendPart(sent, part)
      withoutMerges.push(rateOf(part, usedMs() - stopped))
      sent += part
    }
    await command(service.engine, `SYSTEM START MERGES wellhead.${source}`)
    await sendPart(sent, rows - sent)
    await quiet(service.engine.pid, patience)
    const row = (name, rate, published, atLeast) =>
      comparison({
        name,
        unit: 'lines a core-second',
        sides: { Wellhead: rate, ...published },
        over: false,
        aim: { atLeast },
      })
    const published = { 'Quickwit, published': [15_000], 'Loki, published': [26_900] }
    return [
      row('sending, without merges', withoutMerges, {}, 18_000),
      row('sending, with merges', [rateOf(rows, usedMs() - before)], published, 12_000),
    ]
  } finally {
    kill()
  }
}

/** Waits until the engine uses less than a tenth of a core, for two minutes at most. */
async function quiet(pid, patience) {
  const everyMs = 1_000
  for (let waited = 0; waited < 120 * patience; waited++) {
    const before = cpuMs(pid)
    await delay(everyMs)
    if (cpuMs(pid) - before < everyMs / 10) return
  }
}
