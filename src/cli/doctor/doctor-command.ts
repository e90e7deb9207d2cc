import type { Command } from 'commander'
import { addExamples } from '../command.ts'
import type { CommandIo } from '../command-io.ts'
import type { DoctorOptions } from './doctor.ts'

export function defineDoctor(doctor: Command, io: CommandIo): void {
  doctor
    .option('--data-dir <directory>', 'data directory, as for serve')
    .option('--host <address>', 'address to listen on, as for serve')
    .option('--port <port>', 'port to listen on, as for serve')
    .option('--no-engine', 'check neither an embedded engine nor a ClickHouse server')
    .option('--json', 'print JSON')
    .action(async (options: DoctorOptions) => (await import('./doctor.ts')).reportHealth(options, io))
  addExamples(doctor, 'wellhead doctor', 'wellhead doctor --data-dir /var/lib/wellhead --json')
}
