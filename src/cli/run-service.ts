import { once } from 'node:events'
import { type Service, startService } from '../app.ts'
import { createLog, type Log } from '../base/log.ts'
import { removeServiceFile, writeServiceFile } from '../base/service-file.ts'
import type { Settings } from '../base/settings.ts'
import { version } from '../base/version.ts'
import { exitCodes } from './command-failure.ts'
import type { CommandIo } from './command-io.ts'
import { demoProjects, runDemo } from './demo-traffic.ts'
import { explainStartProblem } from './start-problems.ts'

/** Serves until it is told to stop; gives the exit code. */
export async function runService(settings: Settings, demo: boolean, io: CommandIo): Promise<number> {
  const log = createLog(settings.logLevel)
  const { signal } = io
  const stopping = once(signal, 'abort').then(() => log.info({ signal: signal.reason }, 'stopping'))
  let service: Service
  try {
    service = await startService({
      settings,
      clock: io.clock,
      log,
      node: io.node,
      environment: io.environment,
    })
  } catch (error) {
    const explained = explainStartProblem(error, settings)
    if (explained === undefined) log.fatal({ err: error }, 'the service cannot start')
    await io.stderr.write(`wellhead: ${explained ?? `cannot start: ${(error as Error).message}`}\n`)
    return exitCodes.failed
  }
  if (!signal.aborted) {
    tellWhere(service, settings, log, io)
    await io.stderr.write(greeting(service, settings))
    if (demo) void fillDemo(service, settings, io)
    await stopping
  }
  removeServiceFile(settings.dataDir, io.pid)
  await service.stop()
  return exitCodes.done
}

/** Commands on this machine find the service by this file. */
function tellWhere(service: Service, settings: Settings, log: Log, io: CommandIo): void {
  const started_at = new Date(io.clock.now()).toISOString()
  try {
    writeServiceFile(settings.dataDir, { url: service.url, pid: io.pid, version, started_at })
  } catch (error) {
    log.warn({ err: error }, 'where the service listens could not be written down for commands')
  }
}

async function fillDemo(service: Service, settings: Settings, io: CommandIo): Promise<void> {
  const { url, adminToken } = service
  const { signal } = io
  const onFilled = (entries: number) =>
    void io.stderr.write(
      `Sample traffic: ${entries} entries of the last seven days, and more each second. Try it:\n` +
        `  curl -H "X-API-KEY: $(cat ${settings.dataDir}/admin-token)" '${url}/api/endpoints/query/usage.api-counts?project=${demoProjects[0]}&interval=daily'\n\n`,
    )
  await runDemo({ url, token: adminToken.token, now: io.clock.now, signal, onFilled }).catch(
    (error: Error) => {
      if (!signal.aborted) void io.stderr.write(`wellhead: ${error.message}\n`)
    },
  )
}

function greeting(service: Service, settings: Settings): string {
  const lines = [`Wellhead ${version} serves ${service.url}`]
  if (service.adminToken.made) {
    lines.push(
      '',
      `  Admin token (shown this once, kept in ${settings.dataDir}/admin-token):`,
      `  ${service.adminToken.token}`,
      '',
      '  Try it:',
      `  curl -H 'X-API-KEY: ${service.adminToken.token}' '${service.url}/api/endpoints/query/logs.all?project=demo'`,
    )
  }
  return `${lines.join('\n')}\n\n`
}
