import { randomFillSync } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { natively } from '../../test/support/engines.ts'
import type { TortureRun } from '../support/scenario.ts'
import { adminToken } from '../support/target.ts'
import { type Outcome, Wire } from './wire.ts'

export interface AttackOptions {
  run: TortureRun
  port: number
}

export interface AttackResult {
  count: number
  faults: string[]
}

export type Attack = (options: AttackOptions) => Promise<AttackResult>

const head = (line: string, ...headers: string[]) =>
  [`${line} HTTP/1.1`, 'Host: x', `X-API-KEY: ${adminToken}`, ...headers, '', ''].join('\r\n')

const logs = 'POST /api/logs?source=edge_logs'

/** Limits concurrent connects, so that the listen backlog is not what is tested. */
const concurrentConnects = 50

/** Runs `each` on many connections in parallel and collects the faults that it returns. */
async function inParallel(
  count: number,
  port: number,
  each: (wire: Wire, index: number) => Promise<string | undefined>,
): Promise<AttackResult> {
  const working: Promise<string | undefined>[] = []
  for (let index = 0; index < count; index += concurrentConnects) {
    const opening = Array.from({ length: Math.min(concurrentConnects, count - index) }, () => Wire.open(port))
    for (const wire of await Promise.all(opening)) {
      working.push(each(wire, working.length).finally(() => wire.close()))
    }
  }
  const faults = await Promise.all(working)
  return { count, faults: faults.filter((fault) => fault !== undefined) }
}

const statusOf = (outcome: Outcome) => (typeof outcome === 'string' ? outcome : outcome.status)

function faultUnless(
  outcome: Outcome,
  allowed: readonly (number | string)[],
  what: string,
): string | undefined {
  const status = statusOf(outcome)
  return allowed.includes(status) ? undefined : `${what} got ${status}`
}

/** Longer than the service waits for headers, with a margin for a busy machine. */
const headersPatienceMs = 40_000

/** Sends a byte at a time, so that the connection is never idle. */
async function trickle(wire: Wire, text: string, everyMs: number, patienceMs: number): Promise<Outcome> {
  let at = 0
  const timer = setInterval(() => wire.write(text[at++ % text.length] as string), everyMs)
  try {
    return await wire.nextResponse(patienceMs)
  } finally {
    clearInterval(timer)
  }
}

export const slowHeaders: Attack = ({ run, port }) =>
  inParallel(run.size(500, 30), port, async (wire) => {
    wire.write('GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ')
    return faultUnless(await trickle(wire, 'slow', 1000, headersPatienceMs), [408, 'closed'], 'Slow headers')
  })

export const silentConnections: Attack = ({ run, port }) =>
  inParallel(run.size(500, 30), port, async (wire) =>
    faultUnless(await wire.nextResponse(headersPatienceMs), [408, 'closed'], 'A silent connection'),
  )

/** The service waits two minutes for a request. */
export const slowBodies: Attack = ({ run, port }) =>
  inParallel(run.size(200, 10), port, async (wire) => {
    wire.write(head(logs, 'Content-Length: 100000'))
    const patienceMs = run.size(180_000, 5_000)
    const outcome = await trickle(wire, '[{"message":"slow"},', 500, patienceMs)
    return faultUnless(
      outcome,
      run.size(1, 0) === 1 ? [408, 'closed'] : [408, 'closed', 'silent'],
      'A slow body',
    )
  })

export const halfClosed: Attack = ({ run, port }) =>
  inParallel(run.size(500, 30), port, async (wire, index) => {
    const kinds = [
      head('GET /health'),
      head('GET /api/endpoints/query/torture.way-0'),
      'GET /hea',
      head(logs, 'Content-Length: 9'),
    ]
    wire.socket.end(kinds[index % kinds.length] as string)
    return faultUnless(await wire.nextResponse(60_000), [200, 400, 503, 'closed'], 'A half-closed connection')
  })

/** Each sends one request and then stays open. */
export const idleConnections: Attack = async ({ run, port }) => {
  const count = run.size(natively(5_000, 2_000), 300)
  const result = await inParallel(count, port, async (wire) => {
    wire.write(head('GET /health'))
    const outcome = await wire.nextResponse(60_000)
    await new Promise((resolve) => setTimeout(resolve, run.size(20_000, 3_000)))
    return faultUnless(outcome, [200], 'One of many connections')
  })
  return result
}

/** Headers beyond 256 KiB, which is the limit beside the Logflare gateway. */
export const hugeHeaders: Attack = ({ run, port }) =>
  inParallel(run.size(100, 10), port, async (wire, index) => {
    const line =
      index % 2 === 0 ? `X-Long: ${'x'.repeat(1_000_000)}` : 'X-Many: x\r\n'.repeat(50_000).trimEnd()
    wire.write(head(index % 3 === 0 ? `GET /${'a'.repeat(100_000)}` : 'GET /health', line))
    return faultUnless(await wire.nextResponse(60_000), [431, 'closed'], 'A request with huge headers')
  })

export const garbage: Attack = ({ run, port }) =>
  inParallel(run.size(1_000, 60), port, async (wire, index) => {
    const bytes = Buffer.alloc(200)
    for (let at = 0; at < bytes.length; at++) bytes[at] = Math.floor(run.random() * 256)
    if (index % 2 === 0) {
      wire.write(bytes)
      // Some bytes look like the start of a request, so the service waits for the rest.
      return faultUnless(await wire.nextResponse(1_000), [400, 431, 'closed', 'silent'], 'Garbage')
    }
    wire.write(Buffer.concat([Buffer.from(head('GET /health')), bytes, Buffer.from('\r\n\r\n')]))
    return (
      faultUnless(await wire.nextResponse(60_000), [200], 'A request before garbage') ??
      faultUnless(await wire.nextResponse(60_000), [400, 431, 'closed'], 'Garbage after a request')
    )
  })

export const pipelines: Attack = ({ run, port }) =>
  inParallel(run.size(20, 2), port, async (wire) => {
    const count = run.size(natively(10_000, 1_000), 500)
    wire.write(head('GET /health').repeat(count))
    for (let at = 0; at < count; at++) {
      const fault = faultUnless(await wire.nextResponse(120_000), [200], `Request ${at} of a pipeline`)
      if (fault !== undefined) return fault
    }
    return undefined
  })

/** Small bodies that unpack to ten times the limit. */
export const gzipBombs: Attack = ({ run, port }) => {
  const member = gzipSync(Buffer.alloc(16 * 2 ** 20))
  const bomb = Buffer.concat(Array.from({ length: 40 }, () => member))
  const noise = gzipSync(randomFillSync(Buffer.alloc(1000)))
  return inParallel(run.size(natively(60, 20), 4), port, async (wire, index) => {
    const body = index % 4 === 3 ? Buffer.concat([noise, bomb]) : bomb
    const path = index % 2 === 0 ? logs : 'POST /v1/logs'
    const headers = [
      'Content-Encoding: gzip',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ]
    wire.write(Buffer.concat([Buffer.from(head(path, ...headers)), body]))
    return faultUnless(await wire.nextResponse(120_000), [413, 429, 503], 'A gzip bomb')
  })
}

export const cutOff: Attack = ({ run, port }) =>
  inParallel(run.size(1_000, 60), port, async (wire, index) => {
    const body = JSON.stringify([{ event_message: 'cut', project: 'cut', metadata: { a: 'x'.repeat(500) } }])
    const whole = head(logs, 'Content-Type: application/json', `Content-Length: ${body.length + 1}`) + body
    wire.write(whole.slice(0, 20 + Math.floor(run.random() * (whole.length - 20))))
    await new Promise((resolve) => setTimeout(resolve, index % 20))
    if (index % 2 === 0) wire.socket.resetAndDestroy()
    return undefined
  })

const body = '[{"event_message":"x"}]'

/** Invalid requests and their allowed outcomes. */
const wrongFrames: readonly [string, readonly (number | string)[]][] = [
  [`${head(logs, 'Content-Length: 5')}${body}`, [400]],
  [`${head(logs, 'Content-Length: 23', 'Content-Length: 24')}${body}`, [400]],
  [`${head(logs, 'Content-Length: -1')}${body}`, [400]],
  [`${head(logs, 'Content-Length: 1e3')}${body}`, [400]],
  [`${head(logs, 'Content-Length: 99999999999999999999')}${body}`, [400, 413]],
  [`${head(logs, 'Content-Length: 23', 'Transfer-Encoding: chunked')}0\r\n\r\n`, [400]],
  [`${head(logs, 'Transfer-Encoding: chunked')}zz\r\n${body}\r\n0\r\n\r\n`, [400]],
  [`${head(logs, 'Transfer-Encoding: chunked')}-1\r\n${body}\r\n0\r\n\r\n`, [400]],
  [`${head(logs, 'Transfer-Encoding: chunked')}fffffffffffffffff\r\n${body}`, [400]],
  [
    `${head(logs, 'Transfer-Encoding: chunked')}17;${'x'.repeat(100_000)}\r\n${body}\r\n0\r\n\r\n`,
    [400, 413, 'closed'],
  ],
  [`${head(logs, 'Transfer-Encoding: chunked')}17\r\n${body}XX0\r\n\r\n`, [400]],
  [`${head(logs, 'Transfer-Encoding: chunked')}0\r\n${'X: y\r\n'.repeat(50_000)}\r\n`, [400, 431, 'closed']],
  [`${head(logs, 'Transfer-Encoding: gzip')}${body}`, [400]],
  [`${head(logs, 'Transfer-Encoding: chunked, identity')}${body}`, [400]],
  [`GET /health HTTP/1.1\r\n\r\n`, [200, 400]],
  [`GET /health HTTP/9.9\r\nHost: x\r\n\r\n`, [400, 505]],
  // HTTP/0.9.
  [`GET /health\r\n\r\n`, [200, 400]],
  [head('GET /health', ' folded: x'), [400]],
  [head('GET /health', 'Bad Name: x'), [400]],
  [head('GET /health', 'X: a\0b'), [400]],
  [head('CONNECT example.com:443'), [400, 405, 'closed']],
  [head('GET /health', 'Connection: Upgrade', 'Upgrade: websocket'), [200, 400, 426, 'closed']],
  [`PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`, [400, 'closed']],
]

export const brokenFrames: Attack = async ({ run, port }) => {
  const times = run.size(20, 1)
  return inParallel(wrongFrames.length * times, port, async (wire, index) => {
    const [bytes, allowed] = wrongFrames[index % wrongFrames.length] as (typeof wrongFrames)[number]
    wire.write(bytes)
    return faultUnless(await wire.nextResponse(60_000), allowed, JSON.stringify(bytes.slice(0, 300)))
  })
}

export const expectations: Attack = ({ run, port }) =>
  inParallel(run.size(200, 8), port, async (wire, index) => {
    if (index % 2 === 0) {
      wire.write(head(logs, 'Expect: 100-continue', `Content-Length: ${body.length}`))
      wire.write(body)
      return faultUnless(await wire.nextResponse(60_000), [200], 'A body after 100-continue')
    }
    wire.write(head('GET /health', 'Expect: wonders'))
    return faultUnless(await wire.nextResponse(60_000), [200], 'An unknown expectation')
  })
