import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { type Service, startService } from '../../app.ts'
import { systemTime } from '../../core/base/clock.ts'
import { dataFiles } from '../../core/base/files/data-files.ts'
import { createLog, type Log, standardOutput } from '../../core/base/log.ts'
import { version } from '../../core/base/package-file.ts'
import type { Settings } from '../../core/base/settings.ts'
import { formatAge } from '../../core/base/text/duration.ts'
import type { SampleData } from '../../feature.ts'
import { CommandFailure, type CommandIo, type CommandOutput } from '../kit/command-io.ts'
import { removeServiceFile, sampleDataDir, writeServiceFile } from '../kit/find-service.ts'
import { visible } from '../kit/output/format.ts'
import { explainStartProblem } from '../kit/start-problems.ts'

interface ServiceRun {
  settings: Settings
  /** Fills the service with sample data. */
  samples: SampleData | undefined
  launched: ChildProcess | undefined
}

/** A reader that does not read delays the end of the process by this time. */
const drainWithinMs = 1_000

export async function runService(run: ServiceRun, io: CommandIo): Promise<void> {
  const { settings } = run
  const { stdout } = io
  const isText = settings.logFormat === 'text' || (settings.logFormat === 'auto' && stdout.isTerminal)
  const output = standardOutput()
  const format = isText ? (line: string) => readableLine(line, stdout.colors) : undefined
  const log = createLog(settings.logLevel, output, format)
  try {
    await serve(run, log, io)
  } finally {
    await output.drain(drainWithinMs)
  }
}

async function serve({ settings, samples, launched }: ServiceRun, log: Log, io: CommandIo): Promise<void> {
  const { signal } = io
  const stopping = once(signal, 'abort').then(() => log.info({ signal: signal.reason }, 'stopping'))
  let service: Service
  let usageAtMs: number | undefined
  // The demo's history counts on its own days, as if the service had run for a week.
  const usageClock = { now: () => usageAtMs ?? io.clock.now() }
  const countUsageAt = (ms: number | undefined) => {
    usageAtMs = ms
  }
  try {
    service = await startService({
      settings,
      time: systemTime(io.clock),
      log,
      node: io.node,
      environment: io.environment,
      launched,
      ...(samples && { usageClock }),
    })
  } catch (error) {
    const explained = explainStartProblem(error, settings)
    if (explained === undefined) log.fatal({ err: error }, 'cannot start')
    throw new CommandFailure(explained ?? `cannot start: ${(error as Error).message}`)
  }
  if (!signal.aborted) {
    publishAddress(service, settings, log, io)
    // Not awaited: the service must stop even if nobody reads.
    void io.stderr.write(banner(service, settings, samples, io.stderr.colors))
    if (samples) void fill(samples, service, settings, io, countUsageAt)
    await stopping
  }
  removeServiceFile(settings.dataDir, io.pid)
  await service.stop()
}

function publishAddress(service: Service, settings: Settings, log: Log, io: CommandIo): void {
  const started_at = new Date(io.clock.now()).toISOString()
  try {
    writeServiceFile(settings.dataDir, { url: service.url, pid: io.pid, version, started_at })
  } catch (error) {
    log.warn({ err: error }, 'cannot write service.json; local commands will not find the service')
  }
}

async function fill(
  samples: SampleData,
  { url, adminToken }: Service,
  settings: Settings,
  io: CommandIo,
  countUsageAt: (ms: number | undefined) => void,
): Promise<void> {
  const target = { url, token: adminToken.token, shownToken: shownToken(settings), io, countUsageAt }
  try {
    const fillService = await samples.load()
    await fillService(target)
  } catch (error) {
    void io.stderr.write(`wellhead: ${(error as Error).message}\n`)
  }
}

/** A shell expression for the admin token; a token that was set is in no file and must not be printed. */
export function shownToken({ adminToken, dataDir }: Pick<Settings, 'adminToken' | 'dataDir'>): string {
  return adminToken === undefined ? `$(cat ${dataDir}/${dataFiles.adminToken})` : '$WELLHEAD_ADMIN_TOKEN'
}

/** What they do, and the rest of the command after the address. */
const firstRequests = [
  ['Send an entry', `/api/logs?source=edge_logs' -d '{"project":"demo","event_message":"hello"}'`],
  ['Find it with a saved query', `/api/endpoints/query/logs.all?project=demo&project_tier=PRO'`],
] as const

/** The token is shown only if this start created it. */
export function banner(
  { url, adminToken }: Pick<Service, 'url' | 'adminToken'>,
  settings: Pick<Settings, 'adminToken' | 'dataDir'>,
  samples: Pick<SampleData, 'page'> | undefined,
  { bold }: CommandOutput['colors'],
): string {
  const file = `${settings.dataDir}/${dataFiles.adminToken}`
  const where = settings.adminToken === undefined ? `stored in ${file}` : 'set by WELLHEAD_ADMIN_TOKEN'
  const token = adminToken.made ? `${adminToken.token}  (shown only once, ${where})` : where
  const header = adminToken.made ? `'X-API-KEY: ${adminToken.token}'` : `"X-API-KEY: ${shownToken(settings)}"`
  const removal =
    settings.dataDir === resolve(sampleDataDir)
      ? `\n  It is stored in ${sampleDataDir}. To remove it, stop the service and run: rm -r ${sampleDataDir}`
      : ''
  const next = samples
    ? `  Sending sample traffic of the last seven days …${removal}`
    : firstRequests.map(([what, rest]) => `  ${what}:\n  curl -H ${header} '${url}${rest}`).join('\n\n')
  return `${bold(`Wellhead ${version} is listening on ${url}`)}

  Console      ${url}/${samples ? `console/${samples.page}` : ''}
  Admin token  ${token}

${next}

`
}

interface LogLine {
  level: number
  time: string
  msg?: string
  err?: { message?: string; stack?: string }
  [field: string]: unknown
}

/** Turns a line of JSON into one for people: time, level, message, fields. */
export function readableLine(text: string, colors: CommandOutput['colors']): string {
  const { level, time, msg = '', err, ...fields } = JSON.parse(text) as LogLine
  const [name, color] = levels[level] ?? ['trace', 'blue']
  const head = [colors.dim(timeOfDay(time)), colors[color](name.padEnd(5))]
  const parts = msg === 'request' ? [requestText(fields, colors)] : [visible(msg), fieldsText(fields, colors)]
  const body = [...head, ...parts, err?.message === undefined ? '' : colors.red(visible(err.message))]
  const shown = body.filter((part) => part !== '').join('  ')
  // Below an error, only the lines that say where it happened.
  const stack = err?.stack?.split('\n').filter((one) => /^\s+at /.test(one)) ?? []
  return [shown, ...stack.map((one) => colors.dim(`    ${visible(one.trim())}`)), ''].join('\n')
}

const levels: Record<number, readonly [name: string, color: 'red' | 'yellow' | 'green' | 'blue']> = {
  60: ['fatal', 'red'],
  50: ['error', 'red'],
  40: ['warn', 'yellow'],
  30: ['info', 'green'],
  20: ['debug', 'blue'],
}

/** In the time zone of the terminal. */
function timeOfDay(time: string): string {
  const date = new Date(time)
  return `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** Ids are shown for failed requests only, to find the line of an error. */
function requestText(fields: Record<string, unknown>, colors: CommandOutput['colors']): string {
  const { method, path, status, ms, request_id: id } = fields
  const color = Number(status) >= 500 ? colors.red : Number(status) >= 400 ? colors.yellow : colors.green
  const took = typeof ms === 'number' ? (ms < 10_000 ? `${ms} ms` : formatAge(ms / 1000)) : ''
  const failed = Number(status) >= 400 && typeof id === 'string' ? [colors.dim(visible(id))] : []
  return [visible(`${method} ${path}`), color(String(status)), colors.dim(took), ...failed].join('  ')
}

function fieldsText(fields: Record<string, unknown>, colors: CommandOutput['colors']): string {
  const parts = Object.entries(fields).map(([name, value]) =>
    visible(`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`),
  )
  return parts.length === 0 ? '' : colors.dim(parts.join(' '))
}
