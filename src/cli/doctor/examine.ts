import { readSettings, type Settings } from '../../base/settings.ts'
import type { CommandIo } from '../command-io.ts'
import { checkData, checkEngine } from './doctor-data.ts'
import { checkMachine } from './doctor-machine.ts'
import { type Finding, ok, problem } from './doctor-report.ts'
import { checkClock, checkPort, checkRunningEngine, runningService } from './doctor-service.ts'

export interface DoctorOptions {
  dataDir?: string
  host?: string
  port?: string
  engine: boolean
  json?: true
}

export async function examine(
  { dataDir, host, port, engine }: DoctorOptions,
  io: CommandIo,
): Promise<Finding[]> {
  const reading = readSettings(io.environment, { dataDir, host, port })
  if ('problems' in reading) {
    const problems = reading.problems.map((message) =>
      problem('settings', message, 'See docs/reference/settings.md for all settings.'),
    )
    return [...problems, ...checkMachine(io.machine, undefined)]
  }
  const { settings } = reading
  const client = runningService(settings, io)
  return [
    ok('settings', 'valid'),
    ...checkMachine(io.machine, settings),
    ...(await checkData(settings, io)),
    await checkPort(settings, client),
    await checkClock(io.clock.now, client),
    ...(client ? [await checkRunningEngine(client)] : []),
    ...(engine ? await checkStorage(settings, client !== undefined, io) : []),
  ]
}

async function checkStorage(settings: Settings, isRunning: boolean, io: CommandIo): Promise<Finding[]> {
  if (settings.clickhouseUrl !== undefined) {
    const { checkServers } = await import('./doctor-server.ts')
    return checkServers(settings, settings.clickhouseUrl, io.clock.now)
  }
  return isRunning ? [] : [await checkEngine(settings, io)]
}
