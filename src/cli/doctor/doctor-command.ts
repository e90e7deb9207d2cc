import type { Command } from 'commander'
import { readSettings } from '../../base/settings.ts'
import { addExamples } from '../command.ts'
import { CommandFailure, type CommandIo } from '../command-io.ts'
import { printJson } from '../output/print.ts'
import { type Finding, ok, printFindings, problem } from './finding.ts'

interface DoctorOptions {
  dataDir?: string
  host?: string
  port?: string
  engine: boolean
  json?: true
}

export function defineDoctor(doctor: Command, io: CommandIo): void {
  doctor
    .option('--data-dir <directory>', 'data directory, as for serve')
    .option('--host <address>', 'address to listen on, as for serve')
    .option('--port <port>', 'port to listen on, as for serve')
    .option('--no-engine', 'check neither an embedded engine nor a ClickHouse server')
    .option('--json', 'print JSON')
    .action(async (options: DoctorOptions) => {
      const checks = await examine(options, io)
      const isOk = checks.every(({ status }) => status !== 'problem')
      await (options.json ? printJson(io, { ok: isOk, checks }) : printFindings(io, checks))
      if (!isOk) throw new CommandFailure('')
    })
  addExamples(doctor, 'wellhead doctor', 'wellhead doctor --data-dir /var/lib/wellhead --json')
}

async function examine({ engine, json: _, ...flags }: DoctorOptions, io: CommandIo): Promise<Finding[]> {
  const reading = readSettings(io.environment, flags)
  const local = await import('./doctor-local.ts')
  const machine = [...local.checkVersions(io.nodeVersion), local.checkClock(io.clock.now())]
  if ('problems' in reading) {
    const advice = 'See docs/reference/settings.md for all settings.'
    return [...reading.problems.map((message) => problem('settings', message, advice)), ...machine]
  }
  const { settings } = reading
  const client = local.runningService(settings, io)
  const data = local.checkData(settings)
  const findings = [
    ok('settings', 'valid'),
    ...machine,
    ...local.checkSignIn(settings),
    ...data,
    await local.checkPort(settings, client),
    ...(client ? [await local.checkRunningEngine(client)] : []),
  ]
  if (engine && settings.clickhouseUrl !== undefined) {
    const { checkServers } = await import('./doctor-server.ts')
    findings.push(...(await checkServers(settings, settings.clickhouseUrl, io.clock.now)))
  } else if (engine && !client && data[0]?.status !== 'problem')
    findings.push(await local.tryEngine(settings, io))
  return findings
}
