/**
 * What a cached call costs: the service against a bare node:http server that answers the same bytes, and the service with
 * statistics and metrics against one without; each in a process of its own, called by the same generator (wrk) with 32
 * kept connections, in alternating rounds.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atTheEnd } from './support/at-the-end.mjs'
import { connections, load, rawGet, startBare, startService, token } from './support/called.mjs'
import { median, numberFrom, table } from './support/figures.mjs'

/** Rows that make a body of about so many bytes. */
const sizes = [
  { name: '1 KB', rows: 14 },
  { name: '9 KB', rows: 115 },
  { name: '80 KB', rows: 1000 },
]
const row = "number AS bucket, 1000 + number AS total_rest_requests, 'https://example.com/rest/v1' AS url"

export async function run({ engineNode, patience, quick }) {
  if (spawnSync('wrk', ['--version']).error)
    return 'hits: wrk is needed (Debian: apt-get install wrk); skipped.'
  const seconds = numberFrom('BENCH_SECONDS', quick ? 2 : 5)
  const rounds = numberFrom('BENCH_ROUNDS', quick ? 3 : 7)
  const scratch = mkdtempSync(join(tmpdir(), 'wellhead-bench-'))
  const removeScratch = atTheEnd(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }))
  const start = (name, environment) => startService(join(scratch, name), engineNode, patience, environment)
  const services = [await start('with')]
  try {
    const [service] = services
    const how = `${connections} connections, ${rounds} rounds of ${seconds} s`
    const costs = []
    const against = []
    services.push(await start('without', { WELLHEAD_STATISTICS: 'off' }))
    for (const { name, rows } of sizes) {
      const paths = await Promise.all(services.map(({ url }) => makeEndpoint(url, name, rows)))
      for (const form of ['plain', '304']) {
        costs.push(await compareStatistics({ services, path: paths[0], name, form, seconds, rounds }))
      }
    }
    await services.pop().stop()
    for (const { name } of sizes) {
      for (const form of ['plain', 'gzip', '304']) {
        against.push(await compareBare({ service, path: pathOf(name), name, form, seconds, rounds }))
      }
    }
    return [
      table(`Cached calls with statistics against calls without, ${how}`, costs),
      table(`Cached calls against bare node:http, ${how}`, against),
    ].join('\n\n')
  } finally {
    for (const service of services) await service.stop()
    removeScratch()
  }
}

/** Rounds in turn, of which the first warms both. */
async function alternate(sides, seconds, rounds) {
  const names = Object.keys(sides)
  const results = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = 0; round <= rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const { target, headers } = sides[name]
      const measured = await load(target, headers, round === 0 ? 1 : seconds)
      if (round > 0) results[name].push(measured)
    }
  }
  return results
}

function ratiosOf(results, [one, other]) {
  return results[one].map((result, i) => result.perSecond / results[other][i].perSecond)
}

async function compareStatistics({ services, path, name, form, seconds, rounds }) {
  const sides = {}
  for (const [i, side] of ['with', 'without'].entries()) {
    const { url, pid } = services[i]
    const headers = headersFor(form)
    const { etag } = (await settled(url + path, headers, form)).headers
    if (form === '304') headers['If-None-Match'] = etag
    sides[side] = { target: { url: url + path, pid }, headers }
  }
  const results = await alternate(sides, seconds, rounds)
  const of = (side, figure) => median(results[side].map((result) => result[figure]))
  const ratios = ratiosOf(results, ['with', 'without'])
  return {
    body: name,
    form,
    'with /s': Math.round(of('with', 'perSecond')),
    'without /s': Math.round(of('without', 'perSecond')),
    ratio: median(ratios).toFixed(2),
    spread: `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`,
    'with/without CPU µs': `${of('with', 'cpuMicros').toFixed(1)} / ${of('without', 'cpuMicros').toFixed(1)}`,
    'CPU ratio': (of('without', 'cpuMicros') / of('with', 'cpuMicros')).toFixed(2),
  }
}

function headersFor(form) {
  return { 'X-API-KEY': token, 'Accept-Encoding': form === 'gzip' ? 'gzip' : 'identity' }
}

async function compareBare({ service, path, name, form, seconds, rounds }) {
  const headers = headersFor(form)
  const answer = await settled(service.url + path, headers, form)
  if (form === '304') headers['If-None-Match'] = answer.headers.etag
  const bare = await startBare({ form, ...answer })
  const target = { url: service.url + path, pid: service.pid }
  const sides = { bare: { target: bare, headers }, wellhead: { target, headers } }
  const results = await alternate(sides, seconds, rounds).finally(() => bare.stop())
  const of = (side, figure) => median(results[side].map((result) => result[figure]))
  const ratios = ratiosOf(results, ['wellhead', 'bare'])
  return {
    body: name,
    form,
    'bytes sent': answer.body.length,
    'bare /s': Math.round(of('bare', 'perSecond')),
    'wellhead /s': Math.round(of('wellhead', 'perSecond')),
    ratio: median(ratios).toFixed(2),
    'bare/wellhead CPU µs': `${of('bare', 'cpuMicros').toFixed(1)} / ${of('wellhead', 'cpuMicros').toFixed(1)}`,
    'CPU ratio': (of('bare', 'cpuMicros') / of('wellhead', 'cpuMicros')).toFixed(2),
    spread: `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`,
    'bare p50/p99 ms': `${of('bare', 'p50').toFixed(2)} / ${of('bare', 'p99').toFixed(2)}`,
    'wellhead p50/p99 ms': `${of('wellhead', 'p50').toFixed(2)} / ${of('wellhead', 'p99').toFixed(2)}`,
  }
}

/** Until the compressed form is made, the plain one is sent. */
async function settled(url, headers, form) {
  for (let attempt = 0; attempt < 100; attempt++) {
    const response = await rawGet(url, headers)
    if (form !== 'gzip' || response.headers['content-encoding'] === 'gzip') return response
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${url} was never sent compressed.`)
}

async function makeEndpoint(url, name, rows) {
  const endpoint = endpointOf(name)
  const response = await fetch(`${url}/api/endpoints`, {
    method: 'POST',
    headers: { 'X-API-KEY': token, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      name: endpoint,
      query: `SELECT ${row} FROM numbers(${rows})`,
      parameters: { project: {}, interval: {} },
      cache_seconds: 86_400,
    }),
  })
  if (!response.ok) throw new Error(await response.text())
  return pathOf(name)
}

function endpointOf(name) {
  return `bench.hits-${name.replace(' ', '')}`
}

function pathOf(name) {
  return `/api/endpoints/query/${endpointOf(name)}?project=abcdefghijklmnopqrst&interval=daily`
}
