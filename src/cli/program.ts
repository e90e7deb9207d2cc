import { Command, CommanderError } from 'commander'
import { WellheadError } from '../base/errors.ts'
import { version } from '../base/version.ts'
import { CommandFailure, exitCodes } from './command-failure.ts'
import type { CommandIo } from './command-io.ts'
import { addBackupCommands } from './commands/backup-commands.ts'
import { addDeployCommands } from './commands/deploy-commands.ts'
import { addEndpointCommands } from './commands/endpoint-commands.ts'
import { addLogsCommands } from './commands/logs-commands.ts'
import { addServeCommand, serveCommand } from './commands/serve-command.ts'
import { addSourceCommands } from './commands/source-commands.ts'
import { addTokenCommands } from './commands/token-commands.ts'
import { addProjectCommands } from './commands/workspace-commands.ts'
import { addDoctorCommands } from './doctor/doctor-commands.ts'
import { startHere } from './help.ts'

/** Every command there is. The page docs/cli.md is held against this tree. */
export function createProgram(io: CommandIo): Command {
  const program = new Command('wellhead')
    .description('Saved SQL over logs, served as fast, always-warm HTTP endpoints.')
    .version(version, '-v, --version', 'version of this package')
    .helpOption('-h, --help', 'help of a command')
    .helpCommand('help [command]', 'help of a command')
    .showHelpAfterError('wellhead help lists the commands, and wellhead help <command> tells of one.')
    // Else --version of a command would be taken for that of the program.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'wellhead: ')),
      getOutHelpWidth: () => io.stdout.columns,
      getErrHelpWidth: () => io.stderr.columns,
      getOutHasColors: () => io.stdout.colors.isColorSupported,
      getErrHasColors: () => io.stderr.colors.isColorSupported,
    })
    .configureHelp({ styleTitle: (title) => io.stdout.colors.bold(title) })
    .addHelpText('after', startHere)
  addServeCommand(program)
  addTokenCommands(program, io)
  addEndpointCommands(program, io)
  addSourceCommands(program, io)
  addLogsCommands(program, io)
  addProjectCommands(program, io)
  addDeployCommands(program, io)
  addBackupCommands(program, io)
  addDoctorCommands(program, io)
  return program
}

/** Runs one command and gives its exit code. */
export async function runProgram(args: readonly string[], io: CommandIo): Promise<number> {
  // It reads its arguments by itself, so that every mistake in flags and environment is told at once.
  if (args[0] === 'serve') return serveCommand(args.slice(1), io)
  try {
    await createProgram(io).parseAsync(args.length === 0 ? ['--help'] : args, { from: 'user' })
    return exitCodes.done
  } catch (error) {
    return explain(error, io)
  }
}

function explain(error: unknown, io: CommandIo): number {
  // Commander has said it already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
  if (io.signal.aborted) {
    void io.stderr.write('wellhead: stopped.\n')
    return exitCodes.failed
  }
  const text = messageOf(error)
  if (text !== '') void io.stderr.write(`wellhead: ${text}\n`)
  return error instanceof CommandFailure ? error.exitCode : exitCodes.failed
}

/** What the system says is enough; what nobody foresaw is told with its place. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const foreseen =
    error instanceof CommandFailure ||
    error instanceof WellheadError ||
    typeof (error as NodeJS.ErrnoException).syscall === 'string'
  return foreseen ? error.message : (error.stack ?? error.message)
}
