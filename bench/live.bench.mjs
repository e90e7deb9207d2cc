/**
 * Live streams. First the streams without an engine: entries are passed to them directly at a steady rate and sent over
 * real connections. Then a complete service: sending at full speed with and without readers, in alternating rounds.
 *
 * BENCH_READERS, BENCH_RATE (entries per second) and BENCH_SECONDS set the size of the first part, BENCH_ROWS the entries
 * per round of the second.
 */
import { setTimeout as delay } from 'node:timers/promises'
import fastify from 'fastify'
import { Access } from '../build/core/access/access.js'
import { systemTime } from '../build/core/base/clock.js'
import { admitCaller } from '../build/core/http/route-access.js'
import { EventStreams } from '../build/core/http/streams/event-streams.js'
import { readEntry } from '../build/core/intake/entry-batch.js'
import { LiveTail } from '../build/features/live/live-tail.js'
import { addTailRoutes } from '../build/features/live/routes.js'
import { numberFrom, quantile } from './support/figures.mjs'
import { residentBytes } from './support/resident-bytes.mjs'
import { comparison, observation } from './support/result.mjs'
import { alternate } from './support/rounds.mjs'
import { openService } from './support/service.mjs'
import { createLogs } from './traffic/realistic-logs.mjs'
import { openHelper, openSender } from './traffic/sender-process.mjs'

const seed = 20_260_101
const tailReaders = new URL('./traffic/tail-readers.mjs', import.meta.url)
const token = 'the-token-of-a-benchmark'
const tickMs = 20

export const about = 'live streams'

export async function run({ engineNode, patience, choose }) {
  const readers = numberFrom('BENCH_READERS', 500)
  const rate = numberFrom('BENCH_RATE', 5_000)
  const seconds = numberFrom('BENCH_SECONDS', choose({ full: 5, quick: 2, emulated: 15 }))
  const rows = numberFrom('BENCH_ROWS', choose({ full: 15_000, quick: 5_000, emulated: 2_000 }))
  const rounds = numberFrom('BENCH_ROUNDS', 3)
  const alone = [
    await streamsAlone(`${readers}, each of one project`, { readers, rate, seconds, projects: 500 }),
    await streamsAlone('10, of all entries', { readers: 10, rate, seconds, projects: 500, all: true }),
  ]
  const sending = await wholeService({ engineNode, patience, readers, rows, rounds })
  return {
    tables: [
      {
        id: 'streams',
        title: 'Streams without an engine',
        compares: `${rate} entries per second for ${seconds} s, with and without readers.`,
        engine: 'no part',
        first: 'readers',
        rows: alone,
      },
      {
        id: 'sending',
        title: 'Sending to a complete service at full speed',
        compares: 'Entries per second with readers, divided by those without.',
        rows: [sending],
      },
    ],
  }
}

async function streamsAlone(title, { readers, rate, seconds, projects, all = false }) {
  const { url, tail, close } = await openStreams(readers)
  const helper = openHelper(tailReaders)
  const feed = entriesOf(projects)
  const samples = []
  try {
    const idle = await feedFor({ tail, feed, rate, seconds: Math.min(seconds, 3) })
    const queries = Array.from({ length: readers }, (_, i) => (all ? '' : `?project=p${i % projects}`))
    await helper.ask('open', { url, token, queries })
    await feedFor({ tail, feed, rate, seconds: Math.min(seconds, 3) })
    await helper.ask('begin')
    const every = seconds / 5
    let fed = 0
    let cpuMs = 0
    for (let part = 0; part < 5; part++) {
      const { entries, usedMs } = await feedFor({ tail, feed, rate, seconds: every })
      fed += entries
      cpuMs += usedMs
      samples.push(megabytes())
    }
    await delay(500)
    const { entries, missed, bytes, lags } = await helper.ask('end')
    return observation(title, {
      'entries/s': Math.round(fed / seconds),
      'events/s': Math.round(entries / seconds),
      'MB/s': bytes / seconds / 1e6,
      'times told to have missed': missed,
      'lag p50, p99, most ms': [0.5, 0.99, 1].map((q) => Math.round(quantile(lags, q))).join(', '),
      'resident MB, each fifth of the time': samples.join(', '),
      'processor with, without readers': `${percent(cpuMs, seconds)}, ${percent(idle.usedMs, Math.min(seconds, 3))}`,
    })
  } finally {
    await helper.close()
    await close()
  }
}

function percent(cpuMs, seconds) {
  return `${Math.round(cpuMs / seconds / 10)} %`
}

/** A server with only the tail route. */
async function openStreams(readers) {
  const clock = { now: Date.now }
  const time = systemTime(clock)
  const access = new Access(token, clock)
  const tail = new LiveTail({ time, maxRingBytes: 64 * 2 ** 20, maxPendingBytes: 512 * 2 ** 10 })
  const streams = new EventStreams({ access, time, maxStreams: readers })
  const server = fastify({ forceCloseConnections: 'idle' })
  server.decorateRequest('caller', undefined)
  server.addHook('onRequest', async (request, reply) => {
    request.caller = admitCaller({ access }, 'search', request, reply)
  })
  addTailRoutes(server, { sources: { get: (name) => ({ name }) }, tail, streams })
  const base = await server.listen({ host: '127.0.0.1', port: 0 })
  const close = async () => {
    streams.stop()
    await server.close()
  }
  return { url: `${base}/api/sources/edge_logs/tail`, tail, close }
}

function entriesOf(projects) {
  const logs = createLogs(seed)
  const entries = Array.from({ length: 5_000 }, (_, i) => ({
    ...logs.edge(Date.now() * 1000, 'lean'),
    project: `p${i % projects}`,
  }))
  let next = 0
  return () => {
    const { metadata, ...entry } = entries[next++ % entries.length]
    const sent = { ...entry, metadata: { ...metadata, sent_at: Date.now(), rest: '.'.repeat(20) } }
    const { line } = readEntry(JSON.stringify(sent), { nowMs: Date.now() })
    return line
  }
}

/** Makes lines like the intake and passes them to the tail like the committer. */
async function feedFor({ tail, feed, rate, seconds }) {
  const began = performance.now()
  const cpu = process.cpuUsage()
  let entries = 0
  while (performance.now() - began < seconds * 1000) {
    const due = Math.floor(((performance.now() - began) / 1000) * rate)
    const lines = Array.from({ length: due - entries }, feed)
    entries = due
    tail.publish('edge_logs', lines)
    await delay(tickMs)
  }
  const { user, system } = process.cpuUsage(cpu)
  return { entries, usedMs: (user + system) / 1000 }
}

async function wholeService({ engineNode, patience, readers, rows, rounds }) {
  const service = await openService({ engineNode, patience })
  const sender = openSender()
  const helper = openHelper(tailReaders)
  const batch = 100
  const requests = Math.max(8, Math.ceil(rows / batch))
  const load = { seed, shape: 'lean', batch, connections: 8, requests, nowMs: Date.now() }
  const { projects } = createLogs(seed)
  try {
    await sender.ask('prepare', { url: service.url, token: service.adminToken.token, ...load })
    let seen = 0
    const send = async () => {
      const { elapsedMs } = await sender.ask('run')
      return (1000 * requests * batch) / elapsedMs
    }
    const sendToReaders = async () => {
      const queries = Array.from({ length: Math.min(readers, 500) }, (_, i) => `?project=${projects[i]}`)
      const url = `${service.url}/api/sources/edge_logs/tail`
      await helper.ask('open', { url, token: service.adminToken.token, queries })
      await helper.ask('begin')
      const perSecond = await send()
      await delay(500)
      seen += (await helper.ask('end')).entries
      await helper.ask('close')
      return perSecond
    }
    const sides = await alternate({ with: sendToReaders, without: send }, rounds)
    return comparison({
      name: `${readers} readers`,
      unit: 'entries/s',
      sides,
      aim: { atLeast: 0.9 },
      more: { 'entries of a round': requests * batch, 'events read': seen },
    })
  } finally {
    await sender.close()
    await helper.close()
    await service.close()
  }
}

function megabytes() {
  return (residentBytes(process.pid) / 1e6).toFixed(0)
}
