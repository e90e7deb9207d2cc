import { createServer } from 'node:net'
import type { Settings } from '../../base/settings.ts'
import { formatAge } from '../../base/text/duration.ts'
import type { EngineStatus } from '../../http/routes/status.ts'
import type { CommandIo } from '../command-io.ts'
import { findService } from '../find-service.ts'
import { listOf, objectWith } from '../response-reader.ts'
import { ServiceClient } from '../service-client.ts'
import { readServiceFile } from '../service-file.ts'
import { type Finding, ok, problem, warning } from './doctor-report.ts'

const hourMs = 3_600_000
/** The release of this version: no correct clock shows an earlier time. */
const earliestMs = Date.UTC(2026, 0, 1)
const maxDriftMs = 5_000

const statusResponse = objectWith<{ ready: boolean; engine: EngineStatus }>('ready', 'engine')

/** The service that uses the data directory, if it is running. */
export function runningService(settings: Settings, io: CommandIo): ServiceClient | undefined {
  const { dataDir, adminToken: token } = settings
  const file = readServiceFile(dataDir)
  if (!file || !io.isAlive(file.pid)) return undefined
  const choice = { url: file.url, dataDir, ...(token !== undefined && { token }) }
  try {
    findService(choice, io)
    return new ServiceClient(choice, io)
  } catch {
    return undefined
  }
}

export async function checkRunningEngine(client: ServiceClient): Promise<Finding> {
  const advice = 'Check the log of the service.'
  try {
    const { ready, engine } = await client.json('GET', '/api/status', statusResponse)
    if (!engine.ready || !ready) {
      return problem('engine', engine.reason ?? 'The service is not ready.', advice)
    }
    const text = `${engine.version}, running in the service at ${client.url}`
    if (engine.restarts === 0) return ok('engine', text)
    return warning('engine', `${text}; it has restarted ${engine.restarts} times.`, advice)
  } catch (error) {
    return problem('engine', (error as Error).message, advice)
  }
}

/** Checks whether `serve` could listen on its address. */
export async function checkPort(settings: Settings, client: ServiceClient | undefined): Promise<Finding> {
  const { host, port } = settings
  const address = `${host}:${port}`
  if (port === 0) return ok('port', 'any free port')
  const failure = await tryListen(host, port)
  if (failure === undefined) return ok('port', `${address} is free`)
  const advice = 'Choose another with --port or --host.'
  if (failure !== 'EADDRINUSE') return problem('port', `Cannot listen on ${address}: ${failure}.`, advice)
  if (client && Number(new URL(client.url).port) === port) {
    return ok('port', `${address}, used by this service`)
  }
  if (await isWellhead(host, port)) {
    return warning('port', `Another Wellhead service listens on ${address}.`, advice)
  }
  return problem('port', `Another program listens on ${address}.`, advice)
}

function tryListen(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', ({ code, message }: NodeJS.ErrnoException) => resolve(code ?? message))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}

async function isWellhead(host: string, port: number): Promise<boolean> {
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  try {
    const response = await fetch(`http://${name}:${port}/health`, { signal: AbortSignal.timeout(2_000) })
    return ((await response.json()) as { status?: string }).status === 'alive'
  } catch {
    return false
  }
}

export async function checkClock(nowMs: () => number, client: ServiceClient | undefined): Promise<Finding> {
  const clocks = client ? await readClocks(client).catch(() => ({})) : {}
  return judgeClock(nowMs(), clocks)
}

interface Clocks {
  serviceMs?: number
  newestMs?: number
}

const recentResponse = listOf<{ timestamp: number }>('timestamp')

async function readClocks(client: ServiceClient): Promise<Clocks> {
  const clocks: Clocks = {}
  for (const source of ['edge_logs', 'function_edge_logs']) {
    const path = `/api/sources/${source}/recent`
    const { body, headers } = await client.exchange('GET', path, recentResponse, { query: { limit: '1' } })
    const serviceMs = Date.parse(headers.get('date') ?? '')
    if (!Number.isNaN(serviceMs)) clocks.serviceMs = serviceMs
    for (const { timestamp } of body) clocks.newestMs = Math.max(clocks.newestMs ?? 0, timestamp / 1000)
  }
  return clocks
}

export function judgeClock(nowMs: number, { serviceMs, newestMs }: Clocks): Finding {
  const now = new Date(nowMs).toISOString()
  const advice = 'Correct the clock of this machine, and synchronize it with NTP.'
  if (nowMs < earliestMs) return problem('clock', `The clock shows ${now}, which is in the past.`, advice)
  if (newestMs !== undefined && newestMs > nowMs + hourMs) {
    const hours = ((newestMs - nowMs) / hourMs).toFixed(1)
    return problem('clock', `The newest entry is ${hours} hours ahead of ${now}.`, advice)
  }
  // The Date header has whole seconds.
  if (serviceMs !== undefined && Math.abs(serviceMs - nowMs) > maxDriftMs) {
    const seconds = Math.round(Math.abs(serviceMs - nowMs) / 1000)
    return warning(
      'clock',
      `The clocks of the service and of this machine differ by ${formatAge(seconds)}.`,
      advice,
    )
  }
  return ok('clock', now)
}
