import type { Command } from 'commander'
import { readSettings, type Settings } from '../../base/settings.ts'
import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { addExamples } from '../help.ts'
import { printJson } from '../output/print.ts'
import { checkMachine } from './doctor-machine.ts'
import { type Finding, hasProblem, ok, printFindings, problem } from './doctor-report.ts'
import { checkClock, checkPort, checkRunningEngine, runningService } from './doctor-service.ts'

interface DoctorOptions {
  dataDir?: string
  host?: string
  port?: string
  engine: boolean
  json?: true
}

export function addDoctorCommand(program: Command, io: CommandIo): void {
  const doctor = program
    .command('doctor')
    .description('check settings, versions, disk, engine, clock and permissions, and suggest fixes')
    .option('--data-dir <directory>', 'data directory, as for serve')
    .option('--host <address>', 'address to listen on, as for serve')
    .option('--port <port>', 'port to listen on, as for serve')
    .option('--no-engine', 'check neither an embedded engine nor a ClickHouse server')
    .option('--json', 'print JSON')
    .action(async (options: DoctorOptions) => {
      const checks = await examine(options, io)
      const isOk = !hasProblem(checks)
      await (options.json ? printJson(io, { ok: isOk, checks }) : printFindings(io, checks))
      if (!isOk) throw new CommandFailure('')
    })
  addExamples(doctor, 'wellhead doctor', 'wellhead doctor --data-dir /var/lib/wellhead --json')
}

async function examine({ dataDir, host, port, engine }: DoctorOptions, io: CommandIo): Promise<Finding[]> {
  const reading = readSettings(io.environment, {
    ...(dataDir !== undefined && { dataDir }),
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port }),
  })
  if ('problems' in reading) {
    const problems = reading.problems.map((message) =>
      problem('settings', message, 'See docs/reference/settings.md for all settings.'),
    )
    return [...problems, ...checkMachine(io.machine, undefined)]
  }
  const { settings } = reading
  // Imported on demand: other commands start faster without the engine.
  const { checkData } = await import('./doctor-data.ts')
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
  const { checkEngine } = await import('./doctor-engine.ts')
  return isRunning ? [] : [await checkEngine(settings, io)]
}
