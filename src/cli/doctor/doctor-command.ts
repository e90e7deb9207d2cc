import type { Command } from 'commander'
import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { addExamples } from '../help.ts'
import { printJson } from '../output/print.ts'
import { hasProblem, printFindings } from './doctor-report.ts'
import type { DoctorOptions } from './examine.ts'

export function defineDoctor(doctor: Command, io: CommandIo): void {
  doctor
    .option('--data-dir <directory>', 'data directory, as for serve')
    .option('--host <address>', 'address to listen on, as for serve')
    .option('--port <port>', 'port to listen on, as for serve')
    .option('--no-engine', 'check neither an embedded engine nor a ClickHouse server')
    .option('--json', 'print JSON')
    .action(async (options: DoctorOptions) => {
      const { examine } = await import('./examine.ts')
      const checks = await examine(options, io)
      const isOk = !hasProblem(checks)
      await (options.json ? printJson(io, { ok: isOk, checks }) : printFindings(io, checks))
      if (!isOk) throw new CommandFailure('')
    })
  addExamples(doctor, 'wellhead doctor', 'wellhead doctor --data-dir /var/lib/wellhead --json')
}
