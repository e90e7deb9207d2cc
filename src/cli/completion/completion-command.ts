import { readFileSync } from 'node:fs'
import { Argument, type Command, type Option } from 'commander'
import { packageFile } from '../../core/base/package-file.ts'
import { addExamples } from '../kit/command.ts'
import type { CommandIo } from '../kit/command-io.ts'

/** Each has a script, which asks `wellhead __complete` for the words that fit. */
const shells = ['bash', 'zsh', 'fish']

export function defineCompletion(completion: Command, io: CommandIo): void {
  completion
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .action((shell: string) =>
      io.stdout.write(readFileSync(packageFile(`shipped/completion/wellhead.${shell}`))),
    )
  addExamples(
    completion,
    "echo 'source <(wellhead completion bash)' >> ~/.bashrc",
    "echo 'source <(wellhead completion zsh)' >> ~/.zshrc    (after compinit)",
    'wellhead completion fish > ~/.config/fish/completions/wellhead.fish',
  )
}

/** Says that the shell shall complete names of files. */
const files = ':files'

/** Prints what can stand for the last word, one per line, with a description after a tab. */
export async function printCompletions(
  program: Command,
  words: readonly string[],
  io: CommandIo,
): Promise<void> {
  const current = words.at(-1) ?? ''
  const found = completionsOf(program, words)
  const fitting = found.filter((line) => line === files || line.startsWith(current))
  await io.stdout.write(fitting.map((line) => `${line}\n`).join(''))
}

function completionsOf(program: Command, words: readonly string[]): string[] {
  let command = program
  let pending: Option | undefined
  let position = 0
  for (const word of words.slice(0, -1)) {
    if (pending) pending = undefined
    else if (word.startsWith('-')) {
      const option = command.options.find((one) => one.short === word || one.long === word)
      if (option?.required) pending = option
    } else {
      const inner = command.commands.find((one) => one.name() === word)
      if (inner) command = inner
      else position++
    }
  }
  if (pending) return valuesOf(pending, pending.flags.replace(/^.*[<[]|[>\]]$/g, ''))
  const flags = command.createHelp().visibleOptions(command).flatMap(flagsOf)
  if (words.at(-1)?.startsWith('-')) return flags
  if (command.commands.length > 0) return commandsOf(command)
  const argument = command.registeredArguments[position]
  const values = argument ? valuesOf(argument, argument.name()) : []
  return values.length > 0 ? values : flags
}

function commandsOf(command: Command): string[] {
  const help = command.createHelp()
  const shown = help.visibleCommands(command).filter((one) => one.name() !== 'help' || !command.parent)
  return shown.map((one) => `${one.name()}\t${help.subcommandDescription(one)}`)
}

function flagsOf({ short, long, description }: Option): string[] {
  return [short, long].filter((flag) => flag !== undefined).map((flag) => `${flag}\t${description}`)
}

/** Values of an option or argument: its choices, or files. */
function valuesOf({ argChoices }: Option | Argument, name: string): string[] {
  return argChoices ?? (/^(?:directory|files?)$/.test(name) ? [files] : [])
}
