/**
 * A sender of logs in a process of its own: in the service's it would take the time that it measures. It
 * prepares a case, then runs it as often as it is told.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { openClient } from '../support/http-client.mjs'
import { batchesOf, httpBody, timed } from './log-batches.mjs'

let prepared

const answers = {
  prepare: ({ url, token, ...load }) => {
    prepared?.client.close()
    const bodies = batchesOf(load).map(httpBody)
    prepared = { load, bodies, client: openClient({ url, token, connections: load.connections }) }
    const bytes = bodies.reduce((sum, body) => sum + body.bytes, 0)
    return { bytesPerEntry: bytes / bodies.length / load.batch, packed: bodies.some(({ packed }) => packed) }
  },
  run: () => timed(prepared.load, send),
  /** Each connection sends a batch in every interval and waits for the rest of it. */
  steady: async ({ everyMs, forMs }) => {
    const end = performance.now() + forMs
    let sent = 0
    const connection = async () => {
      while (performance.now() < end) {
        const next = performance.now() + everyMs
        await send(sent++)
        await delay(Math.max(0, next - performance.now()))
      }
    }
    await Promise.all(Array.from({ length: prepared.load.connections }, connection))
    return { sent }
  },
}

function send(number) {
  const { body, headers } = prepared.bodies[number % prepared.bodies.length]
  return prepared.client.call('/api/logs?source=edge_logs', { method: 'POST', headers, body })
}

process.on('message', async ({ type, ...options }) => {
  process.send(await answers[type](options))
})
