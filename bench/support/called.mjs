/** Processes that are called, and the generator (wrk) that calls them. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { atTheEnd } from './at-the-end.mjs'
import { cpuMs } from './processes.mjs'

/** Number of rows for a body of about this size. */
export const bodySizes = [
  { name: '1 KB', rows: 14 },
  { name: '80 KB', rows: 1000 },
]
export const bodyRow =
  "number AS bucket, 1000 + number AS total_rest_requests, 'https://example.com/rest/v1' AS url"

export const connections = 32

/** What a benchmark without its load generator returns; undefined if it is installed. */
export function withoutWrk() {
  const isMissing = spawnSync('wrk', ['--version']).error !== undefined
  return isMissing ? { skipped: 'it needs wrk (Debian: apt-get install wrk).' } : undefined
}

export const token = 'a-token-of-the-benchmark'

export async function rawGet(url, headers) {
  const { get } = await import('node:http')
  return new Promise((resolve, reject) => {
    get(url, { headers }, (response) => {
      const chunks = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(chunks) }))
    }).on('error', reject)
  })
}

const scriptOf = (name) => fileURLToPath(new URL(`./${name}.lua`, import.meta.url))

/** With `isProxied` each request has headers of its own, as a proxy adds them. With `body` each is a POST. */
export async function generate(url, headers, seconds, kept = connections, { isProxied = false, body } = {}) {
  const args = ['-t1', `-c${kept}`, `-d${seconds}s`, '--latency']
  if (isProxied) args.push('-s', scriptOf('proxied'))
  if (body !== undefined) args.push('-s', scriptOf('post'))
  for (const [name, value] of Object.entries(headers)) args.push('-H', `${name}: ${value}`)
  const wrk = spawn('wrk', [...args, url], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, BENCH_BODY: body ?? '' },
  })
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

/** Calls as fast as it goes for so long, with what that cost the process. */
export async function load({ url, pid }, headers, seconds, options) {
  const before = cpuMs(pid)
  const measured = await generate(url, headers, seconds, connections, options)
  return { ...measured, cpuMicros: ((cpuMs(pid) - before) * 1000) / measured.requests }
}

export async function startService(scratch, engineNode, patience, environment = {}, nodeOptions = []) {
  // A profile shows where each function comes from, which a bundle hides.
  const directory = nodeOptions.some((option) => option.startsWith('--cpu-prof')) ? 'build' : 'dist'
  const main = fileURLToPath(new URL(`../../${directory}/main.js`, import.meta.url))
  const args = [...nodeOptions, main, 'serve', '--port', '0', '--data-dir', join(scratch, 'data')]
  const child = spawn(process.execPath, args, {
    env: {
      ...process.env,
      WELLHEAD_ADMIN_TOKEN: token,
      WELLHEAD_ENGINE_NODE: engineNode,
      WELLHEAD_ENGINE_PATIENCE: String(patience),
      ...environment,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  // Its engine ends with it.
  const kill = atTheEnd(() => child.kill('SIGKILL'))
  const url = await firstMatch(child, child.stderr, /listening on (http:\S+)/)
  const stop = async () => {
    await end(child)
    kill()
  }
  return { url, pid: child.pid, stop }
}

export async function startBare({ form, headers, body }) {
  const child = spawn(process.execPath, [fileURLToPath(new URL('./bare-server.mjs', import.meta.url))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
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
