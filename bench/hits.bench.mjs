/**
 * Cache hits: the service compared with a bare node:http server that sends the same bytes, and with a service without
 * statistics and metrics. Each runs in a separate process and is loaded by wrk with 32 keep-alive connections, in
 * alternating rounds. `proxied` is `plain` with the headers that a proxy adds, which differ in each request.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atTheEnd } from './support/at-the-end.mjs'
import {
  bodyRow,
  bodySizes,
  connections,
  load,
  rawGet,
  startBare,
  startService,
  token,
  withoutWrk,
} from './support/called.mjs'
import { median, numberFrom } from './support/figures.mjs'
import { comparison } from './support/result.mjs'
import { alternate, ratioOf } from './support/rounds.mjs'
import { shown } from './support/text-report.mjs'

/** A 304 and the cost of headers do not depend on the size of the body. */
const cases = [
  ['1 KB', 'plain'],
  ['1 KB', 'proxied'],
  ['1 KB', 'gzip'],
  ['1 KB', '304'],
  ['80 KB', 'plain'],
  ['80 KB', 'gzip'],
]

export const about = 'cache hits'

export async function run({ engineNode, patience, quick }) {
  const skipped = withoutWrk()
  if (skipped) return skipped
  const seconds = numberFrom('BENCH_SECONDS', 1)
  const rounds = numberFrom('BENCH_ROUNDS', 3)
  const scratch = mkdtempSync(join(tmpdir(), 'wellhead-bench-'))
  const removeScratch = atTheEnd(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }))
  const start = (name, environment) => startService(join(scratch, name), engineNode, patience, environment)
  const services = [await start('with')]
  try {
    const [service] = services
    const bench = { seconds, rounds }
    const measured = quick ? cases.slice(0, 1) : cases
    const costs = []
    const against = []
    services.push(await start('without', { WELLHEAD_STATISTICS: 'off' }))
    for (const { name, rows } of bodySizes) {
      await Promise.all(services.map(({ url }) => makeEndpoint(url, name, rows)))
    }
    costs.push(await compareStatistics(bench, services, bodySizes[0].name))
    await services.pop().stop()
    for (const [name, form] of measured) against.push(await compareBare(bench, service, name, form))
    const how = `${connections} keep-alive connections, rounds of ${seconds} s`
    return {
      tables: [
        {
          id: 'bare',
          title: `Cache hits compared with bare node:http, ${how}`,
          compares: 'Requests per second, divided by those of a server that only sends the same bytes.',
          engine: 'no part',
          rows: against,
        },
        {
          id: 'statistics',
          title: `Cache hits with statistics compared with cache hits without, ${how}`,
          compares: 'Requests per second, divided by those with WELLHEAD_STATISTICS=off.',
          rows: costs,
        },
      ],
    }
  } finally {
    for (const service of services) await service.stop()
    removeScratch()
  }
}

/** Loads the sides in turn at full speed and measures requests per second and CPU time per request. */
async function loadInTurn({ seconds, rounds }, sides, isProxied = false) {
  const calls = Object.entries(sides).map(([side, { target, headers }]) => [
    side,
    () => load(target, headers, seconds, { isProxied }),
  ])
  const results = await alternate(Object.fromEntries(calls), rounds)
  const names = Object.keys(sides)
  const figure = (side, of) => results[side].map((result) => result[of])
  const cpu = names.map((side) => figure(side, 'cpuMicros'))
  const more = {}
  for (const [i, side] of names.entries()) more[`CPU of ${side}, µs`] = median(cpu[i])
  more['CPU ratio'] = ratioOf(cpu[1], cpu[0]).median
  for (const side of names) {
    more[`${side} p50, p99 ms`] =
      `${shown(median(figure(side, 'p50')))}, ${shown(median(figure(side, 'p99')))}`
  }
  return { sides: Object.fromEntries(names.map((side) => [side, figure(side, 'perSecond')])), more }
}

async function compareStatistics(bench, services, name) {
  const sides = {}
  for (const [i, side] of ['with', 'without'].entries()) {
    const { url, pid } = services[i]
    const headers = headersFor('plain')
    await settled(url + pathOf(name), headers, 'plain')
    sides[side] = { target: { url: url + pathOf(name), pid }, headers }
  }
  const measured = await loadInTurn(bench, sides)
  return comparison({ name: `${name}, plain`, unit: 'calls/s', ...measured, aim: { atLeast: 0.97 } })
}

async function compareBare(bench, service, name, form) {
  const headers = headersFor(form)
  const url = service.url + pathOf(name)
  const answer = await settled(url, headers, form)
  if (form === '304') headers['If-None-Match'] = answer.headers.etag
  const bare = await startBare({ form, ...answer })
  const sides = { wellhead: { target: { url, pid: service.pid }, headers }, bare: { target: bare, headers } }
  const measured = await loadInTurn(bench, sides, form === 'proxied').finally(() => bare.stop())
  return comparison({ name: `${name}, ${form}`, unit: 'calls/s', ...measured, aim: { atLeast: 0.6 } })
}

function headersFor(form) {
  return { 'X-API-KEY': token, 'Accept-Encoding': form === 'gzip' ? 'gzip' : 'identity' }
}

/** The service sends the plain body until the compressed one is ready. */
async function settled(url, headers, form) {
  for (let attempt = 0; attempt < 100; attempt++) {
    const response = await rawGet(url, headers)
    if (form !== 'gzip' || response.headers['content-encoding'] === 'gzip') return response
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${url} never returned a compressed body.`)
}

async function makeEndpoint(url, name, rows) {
  const endpoint = endpointOf(name)
  const response = await fetch(`${url}/api/endpoints`, {
    method: 'POST',
    headers: { 'X-API-KEY': token, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      name: endpoint,
      query: `SELECT ${bodyRow} FROM numbers(${rows})`,
      parameters: { project: {}, interval: {} },
      cache_seconds: 86_400,
    }),
  })
  if (!response.ok) throw new Error(await response.text())
}

function endpointOf(name) {
  return `bench.hits-${name.replace(' ', '')}`
}

function pathOf(name) {
  return `/api/endpoints/query/${endpointOf(name)}?project=abcdefghijklmnopqrst&interval=daily`
}
