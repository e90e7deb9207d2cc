import { createServer } from 'node:net'
import type { Settings } from '../../base/settings.ts'
import type { CommandIo } from '../command-io.ts'
import { statusAnswer } from '../service-answers.ts'
import { connect, type ServiceClient } from '../service-client.ts'
import { readServiceFile } from '../service-file.ts'
import { type Finding, ok, problem, warning } from './doctor-report.ts'

const hourMs = 3_600_000
/** Before this version was made no clock can be right. */
const earliestMs = Date.UTC(2026, 0, 1)
const maxDriftMs = 5_000

/** The service of this data directory, if it runs. */
export function runningService(settings: Settings, io: CommandIo): ServiceClient | undefined {
  const file = readServiceFile(settings.dataDir)
  if (!file || !io.isAlive(file.pid)) return undefined
  const token = settings.adminToken === undefined ? {} : { token: settings.adminToken }
  try {
    return connect({ url: file.url, dataDir: settings.dataDir, ...token }, io)
  } catch {
    return undefined
  }
}

export async function checkRunningEngine(client: ServiceClient): Promise<Finding> {
  try {
    const { ready, engine } = await client.json('GET', '/api/status', statusAnswer)
    if (!engine.ready || !ready) {
      return problem(
        'engine',
        engine.reason ?? 'The service is not ready.',
        'The log of the service has the cause.',
      )
    }
    const text = `${engine.version}, running in the service at ${client.url}`
    if (engine.restarts === 0) return ok('engine', text)
    return warning(
      'engine',
      `${text}; it was started again ${engine.restarts} times.`,
      'The log of the service tells which queries ran then.',
    )
  } catch (error) {
    return problem('engine', (error as Error).message, 'Look at the log of the service.')
  }
}

/** Whether `serve` could listen where it is told to. */
export async function checkPort(settings: Settings, client: ServiceClient | undefined): Promise<Finding> {
  const { host, port } = settings
  const where = `${host}:${port}`
  if (port === 0) return ok('port', 'any free one')
  const failure = await tryListen(host, port)
  if (failure === undefined) return ok('port', `${where} is free`)
  const advice = 'Choose another with --port or --host, or stop what listens there.'
  if (failure !== 'EADDRINUSE') return problem('port', `${where} cannot be listened on: ${failure}.`, advice)
  if (client && Number(new URL(client.url).port) === port)
    return ok('port', `${where}, where this service listens`)
  if (await isWellhead(host, port)) {
    return warning(
      'port',
      `Another Wellhead listens at ${where}.`,
      'If it is not meant: choose another with --port.',
    )
  }
  return problem('port', `Something else listens at ${where}.`, advice)
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

/** The clock against that of the service and against what is stored; its time zone does not matter. */
export async function checkClock(nowMs: () => number, client: ServiceClient | undefined): Promise<Finding> {
  const seen = client ? await readClocks(client).catch(() => ({})) : {}
  return judgeClock(nowMs(), seen)
}

interface Clocks {
  serviceMs?: number
  newestMs?: number
}

async function readClocks(client: ServiceClient): Promise<Clocks> {
  const newest: number[] = []
  let serviceMs: number | undefined
  for (const source of ['edge_logs', 'function_edge_logs']) {
    const response = await client.request('GET', `/api/sources/${source}/recent`, { query: { limit: '1' } })
    serviceMs = Date.parse(response.headers.get('date') ?? '')
    const [row] = (await response.json()) as { timestamp: number }[]
    if (row) newest.push(row.timestamp / 1000)
  }
  return {
    ...(serviceMs !== undefined && !Number.isNaN(serviceMs) && { serviceMs }),
    ...(newest.length > 0 && { newestMs: Math.max(...newest) }),
  }
}

export function judgeClock(nowMs: number, { serviceMs, newestMs }: Clocks): Finding {
  const now = new Date(nowMs).toISOString()
  const advice = 'Set the clock of this machine right, and keep it right with NTP.'
  if (nowMs < earliestMs) return problem('clock', `It is ${now} here, which is long past.`, advice)
  if (newestMs !== undefined && newestMs > nowMs + hourMs) {
    const ahead = ((newestMs - nowMs) / hourMs).toFixed(1)
    return problem(
      'clock',
      `The newest entry is ${ahead} hours ahead of ${now}: the clock was set back.`,
      advice,
    )
  }
  // The header tells whole seconds.
  if (serviceMs !== undefined && Math.abs(serviceMs - nowMs) > maxDriftMs) {
    const apart = Math.round(Math.abs(serviceMs - nowMs) / 1000)
    return warning('clock', `The service's clock and this one are ${apart} s apart.`, advice)
  }
  return ok('clock', now)
}
