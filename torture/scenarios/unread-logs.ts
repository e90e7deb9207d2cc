import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type ServiceProcess, spawnService } from '../../test/support/service-process.ts'
import { HttpClient } from '../load/http-client.ts'
import { becomesTrue, percentile, residentMiB } from '../load/load-target.ts'
import { engineTimeoutFactor, patienceMs } from '../support/patience.ts'
import type { Scenario, TortureRun } from '../support/scenario.ts'
import { adminToken } from '../support/target.ts'

/** Allowed growth of the service's memory, and time to stop. The short form checks no times. */
const allowedGrowthMiB = 150
const allowedStopMs = 10_000
const dropped = 'wellhead_log_lines_dropped_total'

export const unreadLogs: Scenario = {
  name: 'unread-logs',
  title:
    'a reader of the logs that stops reading neither fills the memory nor keeps the service from stopping',
  async run(run) {
    const faults: string[] = []
    const counts: Record<string, number> = {}
    for (const reader of ['paused', 'gone'] as const) {
      const service = await start(run)
      try {
        Object.assign(counts, await (reader === 'paused' ? pauseReader : loseReader)(run, service, faults))
      } finally {
        for (const stream of [service.child.stdout, service.child.stderr]) stream?.destroy()
        service.child.kill('SIGKILL')
      }
    }
    return { counts, faults }
  },
}

interface Started extends ServiceProcess {
  url: string
  pid: number
}

async function start(run: TortureRun): Promise<Started> {
  const service = spawnService(['--port', '0', '--data-dir', join(run.directory, 'data')], {
    WELLHEAD_ADMIN_TOKEN: adminToken,
    ...engineTimeoutFactor,
  })
  return { ...service, url: await service.ready(patienceMs), pid: service.child.pid as number }
}

/** The reader stops, reads again, and stops for good while the service is stopped with a signal. */
async function pauseReader(run: TortureRun, service: Started, faults: string[]) {
  const { child } = service
  const { stdout, stderr } = child
  const before = residentMiB(service)
  stdout?.pause()
  stderr?.pause()
  const { requests, slowestMs } = await sendRequests(run, service, faults)
  const grownMiB = residentMiB(service) - before
  if (grownMiB > allowedGrowthMiB) faults.push(`Memory grew by ${grownMiB} MiB while nobody read.`)
  const lines = await droppedLines(service)
  if (lines === 0) faults.push('No lines were dropped: the reader was not slow enough to test anything.')
  stdout?.resume()
  const logged = () => service.stdout().split('"msg":"request"').length - 1
  if (!(await becomesTrue(() => logged() + lines === requests, patienceMs)))
    faults.push(`${requests} requests, but ${logged()} lines were logged and ${lines} dropped.`)
  const isReported = () => service.stdout().includes(`"lines":${lines},"msg":"log lines were dropped`)
  if (!(await becomesTrue(isReported, patienceMs))) faults.push('The dropped lines were not reported.')
  stdout?.pause()
  await sendRequests(run, service, faults)
  const { code, ms } = await stop(service)
  if (code !== 0) faults.push(`SIGTERM ended the service with ${code} after ${ms} ms.`)
  if (run.size(1, 0) === 1 && ms > allowedStopMs) faults.push(`The service stopped only after ${ms} ms.`)
  return {
    requests,
    'lines dropped': lines,
    'slowest other request, ms': slowestMs,
    'MiB more': grownMiB,
    'ms to stop': ms,
  }
}

/** The reader ends. A second signal ends the service although a request is under way. */
async function loseReader(run: TortureRun, service: Started, faults: string[]) {
  service.child.stdout?.destroy()
  service.child.stderr?.destroy()
  const { slowestMs } = await sendRequests(run, service, faults)
  const held = await holdRequest(service.url)
  service.child.kill('SIGTERM')
  const refuses = () =>
    fetch(`${service.url}/health`).then(
      () => false,
      () => true,
    )
  if (!(await becomesTrue(refuses, patienceMs))) faults.push('SIGTERM did not close the port.')
  // The same signal within a second counts as one.
  const again = setInterval(() => service.child.kill('SIGTERM'), 200)
  const { code, ms } = await stop(service)
  clearInterval(again)
  held.destroy()
  if (code !== 1) faults.push(`A second SIGTERM ended the service with ${code} after ${ms} ms.`)
  if (run.size(1, 0) === 1 && ms > allowedStopMs) faults.push(`A second SIGTERM took ${ms} ms.`)
  return { 'without a reader: slowest other request, ms': slowestMs, 'ms to end after a second signal': ms }
}

/** Sends requests whose log lines exceed every buffer, and measures another caller meanwhile. */
async function sendRequests(run: TortureRun, { url }: Started, faults: string[]) {
  const total = run.cycles(90_000, 1_000)
  // The path is logged; the short form gets as much text with fewer lines.
  const path = `/${'x'.repeat(run.size(100, 8_000))}`
  const http = new HttpClient(url, 17)
  const times: number[] = []
  let sent = 0
  const send = async () => {
    while (sent < total) {
      sent++
      const { status } = await http.send({ path })
      if (status !== 404 && faults.length < 5) faults.push(`A request got ${status}.`)
    }
  }
  const senders = Promise.all(Array.from({ length: 16 }, send))
  // Health checks are not logged.
  while (sent < total) times.push((await http.send({ path: '/health' })).ms)
  await senders
  http.close()
  return { requests: total, slowestMs: Math.ceil(percentile(times, 100)) }
}

async function droppedLines({ url }: Started): Promise<number> {
  const response = await fetch(`${url}/metrics`, { headers: { 'X-API-KEY': adminToken } })
  return Number(new RegExp(`^${dropped} (\\d+)$`, 'm').exec(await response.text())?.[1])
}

/** Resolves when the service has the beginning of a request whose end never comes. */
function holdRequest(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const head = ['POST /api/logs?source=edge_logs HTTP/1.1', 'Host: x', `X-API-KEY: ${adminToken}`]
  const body = ['Content-Type: application/json', 'Content-Length: 9', 'Expect: 100-continue', '', '']
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write([...head, ...body].join('\r\n')))
    socket.on('error', () => {})
    socket.once('data', () => resolve(socket))
  })
}

async function stop({ child }: Started): Promise<{ code: number | null; ms: number }> {
  const since = performance.now()
  const deadline = setTimeout(() => child.kill('SIGKILL'), patienceMs)
  // A paused stream never closes, so wait for the process and not for its output.
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const [code] = (await ended) as [number | null]
  clearTimeout(deadline)
  return { code, ms: Math.round(performance.now() - since) }
}
