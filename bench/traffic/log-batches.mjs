import { gzipSync } from 'node:zlib'
import { createLogs, engineLine } from './realistic-logs.mjs'

/** What is longer has to be packed to be taken. */
const maxPlainBytes = 12 * 2 ** 20

/** So many different entries are enough: what a batch costs does not depend on the one before it. */
const differentEntries = 20_000

/**
 * The batches of a case. Whoever makes them from the same seed has the same, so that they need not travel
 * between processes.
 */
export function batchesOf({ seed, batch, shape, requests, nowMs }) {
  const logs = createLogs(seed)
  const count = Math.max(1, Math.min(requests, 100, Math.floor(differentEntries / batch)))
  return Array.from({ length: count }, (_, number) =>
    // All of one day: each batch is one part, as it is when it comes from a live sender.
    Array.from({ length: batch }, (_, index) =>
      logs.edge(nowMs * 1000 + number * 1000 + (index % 1000), shape),
    ),
  )
}

export function httpBody(entries) {
  const plain = Buffer.from(JSON.stringify(entries))
  const packed = plain.length > maxPlainBytes
  return {
    body: packed ? gzipSync(plain, { level: 1 }) : plain,
    headers: { 'Content-Type': 'application/json', ...(packed && { 'Content-Encoding': 'gzip' }) },
    bytes: plain.length,
    packed,
  }
}

export function engineBody(entries) {
  return Buffer.from(entries.map(engineLine).join(''))
}

/** Does the work so often, on so many connections at once, and tells how long each took. */
export async function timed({ requests, connections }, work) {
  const times = []
  let next = 0
  const since = performance.now()
  const connection = async () => {
    while (next < requests) {
      const number = next++
      const started = performance.now()
      await work(number)
      times.push(performance.now() - started)
    }
  }
  await Promise.all(Array.from({ length: connections }, connection))
  return { elapsedMs: performance.now() - since, times }
}
