import type { Command, Option } from 'commander'
import { flagOf, settingDefinitions, settingNames } from '../../base/settings.ts'

/** What follows a word: a word of a list, a file, a name that the service knows, or a text that cannot be completed. */
export type Completed = readonly string[] | 'files' | 'endpoints' | 'sources' | 'anything'

export interface CompletedOption {
  /** Such as -n and --limit. */
  flags: readonly string[]
  description: string
  /** Undefined for an option without a value. */
  value: Completed | undefined
}

export interface CompletedCommand {
  /** Empty for the program; "token create" for `wellhead token create`. */
  path: string
  commands: readonly { name: string; description: string }[]
  options: readonly CompletedOption[]
  /** For arguments. */
  value: Completed
}

/** Commands whose first argument is the name of something that exists. */
export const namedBy: Readonly<Record<string, 'endpoints' | 'sources'>> = {
  'endpoint show': 'endpoints',
  'endpoint run': 'endpoints',
  'endpoint versions': 'endpoints',
  'endpoint restore': 'endpoints',
  'endpoint delete': 'endpoints',
  pull: 'endpoints',
  'source show': 'sources',
  'source schema': 'sources',
  'source update': 'sources',
  'source delete': 'sources',
  'logs search': 'sources',
  'logs tail': 'sources',
}

/** The program and all its commands, without hidden ones. */
export function completedCommands(command: Command, path = ''): CompletedCommand[] {
  const help = command.createHelp()
  const inner = help.visibleCommands(command).filter((one) => one.name() !== 'help' || path === '')
  return [
    {
      path,
      commands: inner.map((one) => ({ name: one.name(), description: help.subcommandDescription(one) })),
      options: path === 'serve' ? serveOptions() : help.visibleOptions(command).map(completedOption),
      value: namedBy[path] ?? argumentValue(command),
    },
    ...inner
      .filter((one) => one.name() !== 'help')
      .flatMap((one) => completedCommands(one, `${path} ${one.name()}`.trim())),
  ]
}

function argumentValue(command: Command): Completed {
  const [first] = command.registeredArguments
  if (first?.argChoices !== undefined) return first.argChoices
  return first !== undefined && /^(?:directory|files?)$/.test(first.name()) ? 'files' : 'anything'
}

function completedOption(option: Option): CompletedOption {
  const flags = [option.short, option.long].filter((flag) => flag !== undefined)
  return { flags, description: option.description, value: option.required ? optionValue(option) : undefined }
}

function optionValue({ argChoices, flags }: Option): Completed {
  if (argChoices !== undefined) return argChoices
  if (/<(?:directory|file)>/.test(flags)) return 'files'
  return flags.startsWith('--source ') ? 'sources' : 'anything'
}

/** serve parses its own arguments. */
function serveOptions(): CompletedOption[] {
  return [
    { flags: ['--demo'], description: 'Send sample traffic.', value: undefined },
    ...settingNames.map((name): CompletedOption => {
      const value = name === 'dataDir' || name === 'engineNode' ? 'files' : 'anything'
      return { flags: [`--${flagOf(name)}`], description: settingDefinitions[name].description, value }
    }),
    { flags: ['-h', '--help'], description: 'show help', value: undefined },
  ]
}
