import { Command, CommanderError } from 'commander'
import { WellheadError } from '../core/base/errors.ts'
import { OperatorError } from '../core/base/operator-error.ts'
import { version } from '../core/base/package-file.ts'
import type { Feature } from '../feature.ts'
import { features } from '../features.ts'
import { loadSettings } from '../settings-table.ts'
import { startHere } from './kit/command.ts'
import { CommandFailure, type CommandIo, exitCodes } from './kit/command-io.ts'
import type { CommandManifest, Declared } from './kit/command-manifest.ts'

const declared: Declared = {
  settings: loadSettings,
  tables: async () => (await import('../own-tables.ts')).ownTablesOf(features),
  keyFiles: features.flatMap(({ keyFiles = [] }) => keyFiles),
}

/** Commands of workspaces need the kinds of definitions. */
async function withKinds<Module>(module: Promise<Module>): Promise<Module> {
  const { loadKinds } = await import('../kinds.ts')
  await loadKinds()
  return module
}

/** Commands that belong to no feature, in the order of the help. A test compares docs/reference/cli.md with all commands. */
const ownCommands: readonly CommandManifest[] = [
  {
    name: 'serve',
    description: 'run the service',
    after: '',
    load: async () => (await import('./serve/serve-command.ts')).defineServe(await loadSettings()),
  },
  {
    name: 'token',
    description: 'create, list, update, rotate and revoke access tokens',
    after: 'serve',
    load: async () => (await import('./commands/token-commands.ts')).defineToken,
  },
  {
    name: 'endpoint',
    description: 'write, list, show and run endpoints',
    after: 'token',
    load: async () => (await import('./commands/endpoint-commands.ts')).defineEndpoint,
  },
  {
    name: 'sql',
    description: 'run SQL without saving it as an endpoint',
    after: 'endpoint',
    load: async () => (await import('./commands/sql-command.ts')).defineSql,
  },
  {
    name: 'init',
    description: 'create a workspace: endpoint files with fixtures and tests',
    after: 'sql',
    load: async () => (await withKinds(import('./workspace/new-files.ts'))).defineInit,
  },
  {
    name: 'check',
    description: 'find errors and likely mistakes in the files of a workspace; needs no service',
    after: 'init',
    load: async () => (await withKinds(import('./workspace/workspace-commands.ts'))).defineCheck,
  },
  {
    name: 'test',
    description: 'run the tests of a workspace with a temporary engine; needs no service',
    after: 'check',
    load: async () => (await withKinds(import('./workspace/workspace-commands.ts'))).defineTest,
  },
  {
    name: 'diff',
    description: 'compare the files with a service and show which changes break callers',
    after: 'test',
    load: async () => (await withKinds(import('./workspace/deploy.ts'))).defineDiff,
  },
  {
    name: 'deploy',
    description: 'update a service atomically to match the files',
    after: 'diff',
    load: async () => (await withKinds(import('./workspace/deploy.ts'))).defineDeploy,
  },
  {
    name: 'pull',
    description: 'write the definitions of a service to files',
    after: 'deploy',
    load: async () => (await withKinds(import('./workspace/pull.ts'))).definePull,
  },
  {
    name: 'types',
    description: 'write TypeScript declarations of the parameters and rows of endpoints',
    after: 'pull',
    load: async () => (await import('./commands/types-command.ts')).defineTypes,
  },
  {
    name: 'doctor',
    description: 'check settings, versions, disk, engine, clock and permissions, and suggest fixes',
    after: 'types',
    load: async () => (await import('./doctor/doctor.ts')).defineDoctor,
  },
  {
    name: 'completion',
    description: 'print a script that completes commands and flags in a shell',
    after: 'doctor',
    load: async () => (await import('./completion/completion-command.ts')).defineCompletion,
  },
]

/** All commands, in the order of the help. */
export function commandsOf(features: readonly Feature[]): CommandManifest[] {
  const commands = [...ownCommands]
  let added = features.flatMap((feature) => feature.commands ?? [])
  const names = new Set(ownCommands.map(({ name }) => name))
  for (const feature of features) {
    for (const { name } of feature.commands ?? []) {
      if (names.has(name)) throw new Error(`${feature.name}: There are two commands with the name ${name}.`)
      names.add(name)
    }
  }
  while (added.length > 0) {
    const left = added.filter((command) => {
      const place = commands.findIndex(({ name }) => name === command.after)
      if (place >= 0) commands.splice(place + 1, 0, command)
      return place < 0
    })
    // A command may follow one of a feature that is not there.
    if (left.length === added.length) return [...commands, ...left]
    added = left
  }
  return commands
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
  for (const { name, description, load } of commandsOf(features)) {
    const command = program.command(name).description(description)
    if (isWanted(name)) {
      const define = await load()
      define(command, io, declared)
    }
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
