/** Generates lines and sends them, in a process of its own, so that the service's processor time is without them. */
import { openClient } from '../support/http-client.mjs'
import { publishedEntries } from './lines.mjs'

const batch = 1_000
const connections = 4

process.on('message', async ({ url, token, source, ...lines }) => {
  const client = openClient({ url, token, connections })
  let next = lines.from
  const end = lines.from + lines.count
  const send = async () => {
    while (next < end) {
      const from = next
      next = Math.min(end, from + batch)
      const body = JSON.stringify([...publishedEntries({ ...lines, from, count: next - from })])
      const headers = { 'Content-Type': 'application/json' }
      await client.call(`/api/logs?source=${source}`, { method: 'POST', headers, body })
    }
  }
  try {
    await Promise.all(Array.from({ length: connections }, send))
    process.send({})
  } catch (error) {
    process.send({ failed: error.message })
  } finally {
    client.close()
  }
})
