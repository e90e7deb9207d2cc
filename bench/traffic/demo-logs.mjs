import { demoSources, demoTraffic } from '../../build/features/demo/traffic.js'
import { projects } from '../../build/features/demo/world.js'

export const sampleProject = projects[0].ref

const sixHoursMs = 6 * 3_600_000

/** Sends the demo's traffic of a range, by default of the last hours. */
export async function sendDemoLogs(url, token, { nowMs = Date.now(), forMs = sixHoursMs } = {}) {
  for (const source of demoSources) {
    const traffic = demoTraffic(source, { afterMs: nowMs - forMs, untilMs: nowMs })
    const { ok, status } = await fetch(`${url}/api/logs?source=${source}`, {
      method: 'POST',
      headers: { 'X-API-KEY': token, 'Content-Type': 'application/json' },
      body: JSON.stringify([...traffic].map(({ entry }) => entry)),
    })
    if (!ok) throw new Error(`Sending entries of ${source} returned ${status}.`)
  }
}
