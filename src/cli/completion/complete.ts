import type { Argument, Command, Option } from 'commander'
import type { CommandIo } from '../command-io.ts'
import { listOf } from '../response-reader.ts'
import { ServiceClient } from '../service-client.ts'

/** Someone waits at a prompt. */
const maxWaitMs = 2_000

/** Says that the shell shall complete names of files. */
const files = ':files'

/** Prints what can stand for the last word, one per line, with a description after a tab. */
export async function printCompletions(
  program: Command,
  words: readonly string[],
  io: CommandIo,
): Promise<void> {
  const current = words.at(-1) ?? ''
  const found = await completionsOf(program, words, io)
  const fitting = found.filter((line) => line === files || line.startsWith(current))
  await io.stdout.write(fitting.map((line) => `${line}\n`).join(''))
}

async function completionsOf(program: Command, words: readonly string[], io: CommandIo): Promise<string[]> {
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
  if (pending) return valuesOf(pending, pending.flags.replace(/^.*[<[]|[>\]]$/g, ''), command, io)
  const flags = command.createHelp().visibleOptions(command).flatMap(flagsOf)
  if (words.at(-1)?.startsWith('-')) return flags
  if (command.commands.length > 0) return commandsOf(command)
  const argument = command.registeredArguments[position]
  const values = argument ? await valuesOf(argument, argument.name(), command, io) : []
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

/** Values of an option or argument: its choices, files, or names that the service knows. */
async function valuesOf(
  { argChoices }: Option | Argument,
  name: string,
  command: Command,
  io: CommandIo,
): Promise<string[]> {
  if (argChoices) return argChoices
  if (/^(?:directory|files?)$/.test(name)) return [files]
  const group = command.parent?.name()
  if (name === 'source' || (name === 'name' && (group === 'source' || command.name() === 'send')))
    return command.name() === 'create' ? [] : namesOf('sources', io)
  const isEndpoint = name === 'name' && (group === 'endpoint' || command.name() === 'pull')
  return isEndpoint && command.name() !== 'new' ? namesOf('endpoints', io) : []
}

/** None if no service is reached. */
async function namesOf(kind: 'endpoints' | 'sources', io: CommandIo): Promise<string[]> {
  const signal = AbortSignal.any([io.signal, AbortSignal.timeout(maxWaitMs)])
  try {
    const client = new ServiceClient({}, { ...io, signal })
    const found = await client.json('GET', `/api/${kind}`, listOf<{ name: string }>('name'))
    return found.map(({ name }) => name).filter((name) => /^[\w.-]+$/.test(name))
  } catch {
    return []
  }
}
