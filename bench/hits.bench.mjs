/**
 * What a cached call costs: the service against a bare node:http server that answers the same bytes, each in a process of
 * its own, called by the same generator (wrk) with 32 kept connections, in alternating rounds.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { atTheEnd } from './support/at-the-end.mjs'
import { median, numberFrom, table } from './support/figures.mjs'
import { cpuMs } from './support/processes.mjs'

const connections = 32
const token = 'a-token-of-the-benchmark'

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
  const service = await startService(scratch, engineNode, patience)
  const rows = []
  try {
    for (const { name, rows: count } of sizes) {
      const path = await makeEndpoint(service.url, name, count)
      for (const form of ['plain', 'gzip', '304']) {
        rows.push(await compare({ service, path, name, form, seconds, rounds }))
      }
    }
    return table(
      `Cached calls against bare node:http, ${connections} connections, ${rounds} rounds of ${seconds} s`,
      rows,
    )
  } finally {
    await service.stop()
    removeScratch()
  }
}

async function compare({ service, path, name, form, seconds, rounds }) {
  const headers = { 'X-API-KEY': token, 'Accept-Encoding': form === 'gzip' ? 'gzip' : 'identity' }
  const answer = await settled(service.url + path, headers, form)
  if (form === '304') headers['If-None-Match'] = answer.headers.etag
  const bare = await startBare({ form, ...answer })
  const results = { wellhead: [], bare: [] }
  try {
    for (let round = 0; round <= rounds; round++) {
      const [one, other] = round % 2 === 0 ? ['bare', 'wellhead'] : ['wellhead', 'bare']
      for (const side of [one, other]) {
        const url = side === 'bare' ? bare.url : service.url + path
        const { pid } = side === 'bare' ? bare : service
        const before = cpuMs(pid)
        const measured = await load(url, headers, round === 0 ? 1 : seconds)
        measured.cpuMicros = ((cpuMs(pid) - before) * 1000) / measured.requests
        // The first round warms both sides.
        if (round > 0) results[side].push(measured)
      }
    }
  } finally {
    await bare.stop()
  }
  const of = (side, figure) => median(results[side].map((result) => result[figure]))
  const ratios = results.wellhead.map((result, i) => result.perSecond / results.bare[i].perSecond)
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

async function rawGet(url, headers) {
  const { get } = await import('node:http')
  return new Promise((resolve, reject) => {
    get(url, { headers }, (response) => {
      const chunks = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(chunks) }))
    }).on('error', reject)
  })
}

async function load(url, headers, seconds) {
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency']
  for (const [name, value] of Object.entries(headers)) args.push('-H', `${name}: ${value}`)
  const wrk = spawn('wrk', [...args, url], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  wrk.stdout.on('data', (chunk) => {
    text += chunk
  })
  await once(wrk, 'close')
  if (/Non-2xx or 3xx|Socket errors/.test(text)) throw new Error(text)
  const ms = (label) => {
    const [, value, unit] = new RegExp(`${label}%\\s+([\\d.]+)(us|ms|s)`).exec(text) ?? []
    return Number(value) * { us: 0.001, ms: 1, s: 1000 }[unit]
  }
  const requests = Number(/(\d+) requests in/.exec(text)?.[1])
  return {
    requests,
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]),
    p50: ms('50'),
    p99: ms('99'),
  }
}

async function startService(scratch, engineNode, patience) {
  const main = fileURLToPath(new URL('../dist/main.js', import.meta.url))
  const args = [main, 'serve', '--port', '0', '--data-dir', join(scratch, 'data')]
  const child = spawn(process.execPath, args, {
    env: {
      ...process.env,
      WELLHEAD_ADMIN_TOKEN: token,
      WELLHEAD_ENGINE_NODE: engineNode,
      WELLHEAD_ENGINE_PATIENCE: String(patience),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const url = await firstMatch(child, child.stderr, /serves (http:\S+)/)
  return { url, pid: child.pid, stop: () => end(child) }
}

async function startBare({ form, headers, body }) {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('./support/bare-server.mjs', import.meta.url))],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  const answer = { status: form === '304' ? 304 : 200, headers, body: body.toString('base64') }
  child.stdin.end(JSON.stringify(answer))
  const url = await firstMatch(child, child.stdout, /(http:\S+)/)
  return { url, pid: child.pid, stop: () => end(child) }
}

function firstMatch(child, stream, pattern) {
  return new Promise((resolve, reject) => {
    let text = ''
    child.once('exit', (code) => reject(new Error(`It ended with ${code}: ${text}`)))
    stream.on('data', (chunk) => {
      text += chunk
      const found = pattern.exec(text)
      if (found) resolve(found[1])
    })
  })
}

async function end(child) {
  child.kill('SIGTERM')
  if (child.exitCode === null) await once(child, 'exit')
}

async function makeEndpoint(url, name, rows) {
  const endpoint = `bench.hits-${name.replace(' ', '')}`
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
  return `/api/endpoints/query/${endpoint}?project=abcdefghijklmnopqrst&interval=daily`
}
