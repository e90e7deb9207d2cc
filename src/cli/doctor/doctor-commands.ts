import type { Command } from 'commander'
import { readSettings } from '../../base/settings.ts'
import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { addExamples } from '../help.ts'
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

export function addDoctorCommands(program: Command, io: CommandIo): void {
  const doctor = program
    .command('doctor')
    .description(
      'look at settings, versions, disk, engine, clock and permissions: what is wrong, and what to do',
    )
  doctor
    .option('--data-dir <directory>', 'data directory, as for serve')
    .option('--host <address>', 'address to listen on, as for serve')
    .option('--port <port>', 'port to listen on, as for serve')
    .option('--no-engine', 'do not start an engine to see whether it starts')
    .option('--json', 'as JSON')
    .action(async (options: DoctorOptions) => {
      const findings = await examine(options, io)
      await printFindings(io, findings, options.json === true)
      if (hasProblem(findings)) throw new CommandFailure('')
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
    const told = reading.problems.map((message) =>
      problem('settings', message, 'docs/settings.md lists them.'),
    )
    // What depends on settings cannot be looked at without them.
    return [...told, ...checkMachine(io.machine, undefined)]
  }
  const { settings } = reading
  // Loaded here: other commands begin sooner without what an engine needs.
  const { checkData } = await import('./doctor-data.ts')
  const { checkEngine } = await import('./doctor-engine.ts')
  const client = runningService(settings, io)
  return [
    ok('settings', 'can be read'),
    ...checkMachine(io.machine, settings),
    ...(await checkData(settings, io)),
    await checkPort(settings, client),
    await checkClock(io.clock.now, client),
    ...(client ? [await checkRunningEngine(client)] : engine ? [await checkEngine(settings, io)] : []),
  ]
}
