import { Command, CommanderError } from 'commander'
import { WellheadError } from '../core/base/errors.ts'
import { OperatorError } from '../core/base/operator-error.ts'
import { version } from '../core/base/package-file.ts'
import { startHere } from './kit/command.ts'
import { CommandFailure, type CommandIo, exitCodes } from './kit/command-io.ts'

type Define = (command: Command, io: CommandIo) => void

/** In the order of the help. */
const descriptions = {
  serve: 'run the service',
  token: 'create, list, update, rotate and revoke access tokens',
  endpoint: 'write, list, show and run endpoints',
  alert: 'list, show, test and mute alerts',
  sql: 'run SQL without saving it as an endpoint',
  source: 'list, show, update and delete sources, and list their metadata paths',
  table: 'list, show, fill and delete tables, and print their rows',
  project: 'list and show projects, set their plans, and show what they used',
  logs: 'send, search and follow log entries',
  import: 'import the logs of another log service',
  mcp: 'serve the tools of a service to an agent, over stdio',
  init: 'create a workspace: endpoint files with fixtures and tests',
  check: 'find errors and likely mistakes in the files of a workspace; needs no service',
  test: 'run the tests of a workspace with a temporary engine; needs no service',
  diff: 'compare the files with a service and show which changes break callers',
  deploy: 'update a service atomically to match the files',
  pull: 'write the definitions of a service to files',
  types: 'write TypeScript declarations of the parameters and rows of endpoints',
  erase: 'erase entries of a project everywhere',
  backup: 'back up a running service',
  restore: 'create a data directory from a backup',
  copy: 'copy a data directory to a ClickHouse server or cluster',
  doctor: 'check settings, versions, disk, engine, clock and permissions, and suggest fixes',
  completion: 'print a script that completes commands and flags in a shell',
}

/** Each command loads its own modules only. A test compares docs/reference/cli.md with all of them. */
const definitions: Record<keyof typeof descriptions, () => Promise<Define>> = {
  serve: async () => (await import('./serve/serve-command.ts')).defineServe,
  token: async () => (await import('./commands/token-commands.ts')).defineToken,
  endpoint: async () => (await import('./commands/endpoint-commands.ts')).defineEndpoint,
  alert: async () => (await import('../features/alerts/commands.ts')).defineAlert,
  sql: async () => (await import('./commands/sql-command.ts')).defineSql,
  source: async () => (await import('../features/sources/commands.ts')).defineSource,
  table: async () => (await import('../features/tables/commands.ts')).defineTable,
  project: async () => (await import('../features/plans/commands.ts')).defineProject,
  logs: async () => (await import('../features/logs/commands.ts')).defineLogs,
  import: async () => (await import('../features/backup/commands.ts')).defineImport,
  mcp: async () => (await import('../features/mcp/commands.ts')).defineMcp,
  init: async () => (await import('./workspace/new-files.ts')).defineInit,
  check: async () => (await import('./workspace/workspace-commands.ts')).defineCheck,
  test: async () => (await import('./workspace/workspace-commands.ts')).defineTest,
  diff: async () => (await import('./workspace/deploy.ts')).defineDiff,
  deploy: async () => (await import('./workspace/deploy.ts')).defineDeploy,
  pull: async () => (await import('./workspace/pull.ts')).definePull,
  types: async () => (await import('./commands/types-command.ts')).defineTypes,
  erase: async () => (await import('../features/erasure/commands.ts')).defineErase,
  backup: async () => (await import('../features/backup/commands.ts')).defineBackup,
  restore: async () => (await import('../features/backup/commands.ts')).defineRestore,
  copy: async () => (await import('../features/backup/commands.ts')).defineCopy,
  doctor: async () => (await import('./doctor/doctor.ts')).defineDoctor,
  completion: async () => (await import('./completion/completion-command.ts')).defineCompletion,
}

/** The program with the names of all commands; only those that are wanted are complete. */
export async function createProgram(
  io: CommandIo,
  isWanted: (name: string) => boolean = () => true,
): Promise<Command> {
  const program = new Command('wellhead')
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
      // The value of a mistyped flag may be a secret.
      outputError: (text, write) =>
        write(text.replace(/^error: /, 'wellhead: ').replace(/('--[^'=]*)=[^']*'/, "$1'")),
      getOutHelpWidth: () => io.stdout.columns,
      getErrHelpWidth: () => io.stderr.columns,
      getOutHasColors: () => io.stdout.colors.isColorSupported,
      getErrHasColors: () => io.stderr.colors.isColorSupported,
    })
    .configureHelp({ styleTitle: (title) => io.stdout.colors.bold(title) })
    .addHelpText('after', startHere)
  for (const [name, define] of Object.entries(definitions)) {
    const command = program.command(name).description(descriptions[name as keyof typeof descriptions])
    if (isWanted(name)) (await define())(command, io)
  }
  return program
}

export async function runProgram(args: readonly string[], io: CommandIo): Promise<number> {
  const [first, ...rest] = args
  try {
    if (first === '__complete') {
      const program = await createProgram(io, (name) => name === rest[0])
      await (await import('./completion/completion-command.ts')).printCompletions(program, rest, io)
      return exitCodes.done
    }
    const program = await createProgram(io, (name) => args.includes(name))
    await program.parseAsync(args.length === 0 ? ['--help'] : args, { from: 'user' })
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
    error instanceof OperatorError ||
    error instanceof WellheadError ||
    typeof (error as NodeJS.ErrnoException).syscall === 'string'
  return isExpected ? error.message : (error.stack ?? error.message)
}
