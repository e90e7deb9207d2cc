import { Command, CommanderError, type Option } from 'commander'
import { WellheadError } from '../base/errors.ts'
import { closestName } from '../base/text/closest-name.ts'
import { version } from '../base/version.ts'
import { CommandFailure, exitCodes } from './command-failure.ts'
import type { CommandIo } from './command-io.ts'
import { addBackupCommands } from './commands/backup-commands.ts'
import { addCopyCommand } from './commands/copy-command.ts'
import { addEndpointCommands } from './commands/endpoint-commands.ts'
import { addLogsCommands } from './commands/logs-commands.ts'
import { addMcpCommand } from './commands/mcp-command.ts'
import { addSourceCommands } from './commands/source-commands.ts'
import { addSqlCommand } from './commands/sql-command.ts'
import { addTokenCommands } from './commands/token-commands.ts'
import { addCompletionCommand } from './completion/completion-command.ts'
import { addDoctorCommand } from './doctor/doctor-command.ts'
import { startHere } from './help.ts'
import { addServeCommand, serveCommand } from './serve/serve-command.ts'
import { addDeployCommand } from './workspace/deploy-command.ts'
import { addDiffCommand } from './workspace/diff-command.ts'
import { addPullCommand } from './workspace/pull-command.ts'
import { addWorkspaceCommands } from './workspace/workspace-commands.ts'

/** Reports a mistyped option rather than the required one that is missing because of it. */
class SuggestingCommand extends Command {
  override createCommand(name?: string): Command {
    return new SuggestingCommand(name)
  }

  /** Called by commander, which checks required options before unknown ones. */
  missingMandatoryOptionValue({ flags, long }: Option): void {
    const typed = this.args.find((arg) => arg.startsWith('--'))?.replace(/=.*/, '')
    const isMistyped = typed !== undefined && closestName(typed, [long ?? '']) !== undefined
    this.error(
      isMistyped
        ? `error: unknown option '${typed}'\n(Did you mean ${long}?)`
        : `error: required option '${flags}' not specified`,
    )
  }
}

/** All commands. A test compares docs/reference/cli.md with them. */
export function createProgram(io: CommandIo): Command {
  const program = new SuggestingCommand('wellhead')
    .description('Saved SQL over logs, served as fast, always-warm HTTP endpoints.')
    .version(version, '-v, --version', 'show the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .showHelpAfterError('List the commands with "wellhead help", or show one with "wellhead help <command>".')
    // Lets commands have their own --version option.
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
  addSqlCommand(program, io)
  addSourceCommands(program, io)
  addLogsCommands(program, io)
  addMcpCommand(program, io)
  addWorkspaceCommands(program, io)
  addDiffCommand(program, io)
  addDeployCommand(program, io)
  addPullCommand(program, io)
  addBackupCommands(program, io)
  addCopyCommand(program, io)
  addDoctorCommand(program, io)
  addCompletionCommand(program, io)
  return program
}

export async function runProgram(args: readonly string[], io: CommandIo): Promise<number> {
  // Parses its own arguments, to report all errors in flags and environment together.
  if (args[0] === 'serve') return serveCommand(args.slice(1), io)
  try {
    await createProgram(io).parseAsync(args.length === 0 ? ['--help'] : args, { from: 'user' })
    return exitCodes.done
  } catch (error) {
    return explain(error, io)
  }
}

function explain(error: unknown, io: CommandIo): number {
  // Commander has already printed the error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
  if (io.signal.aborted) {
    void io.stderr.write('wellhead: stopped.\n')
    return exitCodes.failed
  }
  const text = messageOf(error)
  if (text !== '') void io.stderr.write(`wellhead: ${text}\n`)
  return error instanceof CommandFailure ? error.exitCode : exitCodes.failed
}

/** Unexpected errors are shown with their stack. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const isExpected =
    error instanceof CommandFailure ||
    error instanceof WellheadError ||
    typeof (error as NodeJS.ErrnoException).syscall === 'string'
  return isExpected ? error.message : (error.stack ?? error.message)
}
