import { demoSources, demoTraffic } from '../../dist/demo/traffic.js'
import { projects } from '../../dist/demo/world.js'

export const sampleProject = projects[0].ref

const hours = 6

/** Sends the last hours of the demo's traffic. */
export async function sendDemoLogs(url, token) {
  const nowMs = Date.now()
  for (const source of demoSources) {
    const traffic = demoTraffic(source, { afterMs: nowMs - hours * 3_600_000, untilMs: nowMs, nowMs })
    const { ok, status } = await fetch(`${url}/api/logs?source=${source}`, {
      method: 'POST',
      headers: { 'X-API-KEY': token, 'Content-Type': 'application/json' },
      body: JSON.stringify([...traffic].map(({ entry }) => entry)),
    })
    if (!ok) throw new Error(`Sending entries of ${source} returned ${status}.`)
  }
}
