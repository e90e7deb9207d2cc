/**
 * Whether the time of a 401 reveals what is wrong with a token. Sends invalid tokens of every kind in random order over
 * keep-alive connections. A difference between two kinds is significant only if it is larger than the difference between
 * two halves (every other request) of one kind.
 */
import { randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { median, numberFrom, quantile } from './support/figures.mjs'
import { comparison, observation } from './support/result.mjs'
import { openService } from './support/service.mjs'

/** A cached query, for which the service does the least work after authentication. */
const path = '/api/endpoints/query/usage.api-counts?project=abc&interval=daily'
const connections = 2
const expiresAfterMs = 10_000

export const about = 'the time of a 401'

export async function run({ engineNode, patience, choose }) {
  const calls = numberFrom('BENCH_CALLS', choose({ full: 2_000, quick: 1_000, emulated: 4_000 }))
  const service = await openService({
    engineNode,
    patience,
    // High enough that every request gets 401 and none 429.
    environment: { WELLHEAD_AUTH_FAILURES_PER_MINUTE: '1000000' },
  })
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  try {
    const kinds = await tokensOfEachKind(service, calls)
    const times = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, []]))
    const order = shuffled(Object.keys(kinds).flatMap((kind) => Array.from({ length: calls }, () => kind)))
    const call = async (kind, counted) => {
      const micros = await timed401(agent, service.url, kinds[kind][times[kind].length])
      if (counted) times[kind].push(micros)
    }
    // The first requests warm up both sides.
    for (const kind of order.slice(0, 500)) await call(kind, false)
    let next = 0
    const caller = async () => {
      for (let at = next++; at < order.length; at = next++) await call(order[at], true)
    }
    await Promise.all(Array.from({ length: connections }, caller))
    return report(times)
  } finally {
    agent.destroy()
    await service.close()
  }
}

/** The tokens of each kind, created before the measurement so that it does not disturb it. */
async function tokensOfEachKind({ url, adminToken }, calls) {
  const manage = async (method, address, body) => {
    const response = await fetch(url + address, {
      method,
      headers: { 'X-API-KEY': adminToken.token, ...(body && { 'Content-Type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${address}: ${response.status} ${await response.text()}`)
    return response.status === 204 ? undefined : response.json()
  }
  const make = (fields) => manage('POST', '/api/access-tokens', { scopes: ['query'], ...fields })
  const [revoked, valid] = [await make({}), await make({})]
  const expired = await make({ expires_at: new Date(Date.now() + expiresAfterMs).toISOString() })
  // Each was valid once and has been used.
  for (const { token } of [revoked, valid, expired, revoked, valid, expired]) {
    await fetch(url + path, { headers: { 'X-API-KEY': token } })
  }
  await manage('DELETE', `/api/access-tokens/${revoked.id}`)
  await wait(expiresAfterMs)
  const { length } = valid.token
  const same = (token) => Array.from({ length: calls }, () => token)
  return {
    missing: same(undefined),
    malformed: same('x'.repeat(length)),
    unknown: same(length - 3).map(unknownToken),
    'off by one letter': same(valid.token.slice(0, -1) + (valid.token.endsWith('0') ? '1' : '0')),
    revoked: same(revoked.token),
    expired: same(expired.token),
  }
}

function unknownToken(length) {
  return `wh_${randomBytes(length).toString('hex').slice(0, length)}`
}

function timed401(agent, url, token) {
  return new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { 'X-API-KEY': token }
    const sent = request(url + path, { agent, headers }, (response) => {
      response.resume()
      response.on('end', () => {
        if (response.statusCode === 401) resolve((performance.now() - since) * 1000)
        else reject(new Error(`An invalid token got ${response.statusCode}.`))
      })
    })
    sent.on('error', reject)
    const since = performance.now()
    sent.end()
  })
}

function report(times) {
  const halves = (all) => Math.abs(medianOfHalf(all, 0) - medianOfHalf(all, 1))
  const rows = Object.entries(times).map(([kind, all]) =>
    observation(kind, {
      calls: all.length,
      'median, µs': median(all),
      'p90, µs': quantile(all, 0.9),
      'halves differ by, µs': halves(all),
    }),
  )
  const difference = (lists) => Math.max(...lists.map(median)) - Math.min(...lists.map(median))
  const { missing, ...sent } = times
  const noise = Math.max(...Object.values(times).map(halves))
  const between = (name, lists) =>
    comparison({
      name: `medians of 401s, ${name}`,
      unit: 'µs',
      sides: { 'at most by': [difference(lists)], 'halves of one kind': [noise] },
    })
  const summary = [
    between('all kinds of invalid tokens', [missing, ...Object.values(sent)]),
    between('tokens that were sent', Object.values(sent)),
  ]
  return {
    tables: [
      {
        id: 'kinds',
        title: `401 by kind of invalid token, ${connections} connections, random order`,
        engine: 'no part',
        first: 'token',
        rows,
      },
      {
        id: 'differences',
        title: 'Largest differences',
        compares:
          'The ratio is to the noise: the difference between halves of one kind. Only what is larger than the noise is significant.',
        engine: 'no part',
        each: true,
        first: 'between',
        rows: summary,
      },
    ],
  }
}

/** Every other request, so that changes over time affect both halves. */
function medianOfHalf(all, half) {
  return median(all.filter((_, at) => at % 2 === half))
}

function shuffled(items) {
  const mixed = [...items]
  for (let at = mixed.length - 1; at > 0; at--) {
    const other = Math.floor(Math.random() * (at + 1))
    ;[mixed[at], mixed[other]] = [mixed[other], mixed[at]]
  }
  return mixed
}
