import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { memoryIo } from '../../test/support/memory-io.ts'
import { createProgram } from './program.ts'

const page = readFileSync(new URL('../../docs/reference/cli.md', import.meta.url), 'utf8')

/** All commands without subcommands, by full name. */
function commandsOf(command: Command, words: readonly string[] = []): [string, Command][] {
  const name = [...words, command.name()]
  if (command.commands.length === 0) return [[name.join(' '), command]]
  const shown = command.createHelp().visibleCommands(command)
  return command.commands.filter((inner) => shown.includes(inner)).flatMap((inner) => commandsOf(inner, name))
}

// The flags of serve are settings, which have their own page.
const commands = commandsOf(await createProgram(memoryIo())).filter(([name]) => name !== 'wellhead serve')

function rowsOf(command: Command): [string, string][] {
  const help = command.createHelp()
  const rows: [string, string][] = [
    ...command.registeredArguments.map((argument): [string, string] => [
      argument.required ? `<${argument.name()}>` : `[${argument.name()}${argument.variadic ? '...' : ''}]`,
      help.argumentDescription(argument),
    ]),
    ...command.options.map((option): [string, string] => [option.flags, help.optionDescription(option)]),
  ]
  // The page describes --json, and the flags that choose a service, once for all commands.
  return rows.filter(
    ([flags, words]) =>
      words !== 'print JSON' && (!/^--(url|token|data-dir) /.test(flags) || !talksToService(command)),
  )
}

function talksToService({ options }: Command): boolean {
  return options.some(({ long }) => long === '--url')
}

function sectionOf(name: string): string[] | undefined {
  const section = page.split(/^##+ /m).find((part) => part.startsWith(`\`${name}\``))
  return section?.split('\n').filter((line) => line.startsWith('- `'))
}

test('docs/reference/cli.md lists exactly the commands, arguments and flags of the program', () => {
  const expected = commands.map(([name, command]) => ({
    name,
    rows: rowsOf(command).map(([flags, words]) => `- \`${flags}\`: ${words}`),
  }))
  expect(commands.map(([name]) => ({ name, rows: sectionOf(name) }))).toEqual(expected)
  const documented = [...page.matchAll(/^### `(wellhead [^`]+)`$/gm)].map(([, name]) => name)
  expect(documented).toEqual(commands.map(([name]) => name))
})

test('docs/reference/cli.md names the commands without --json', () => {
  const [, sentence = ''] = /All commands have `--json`,.+? except ([^.]+)\./s.exec(page) ?? []
  const without = commands.filter(([, { options }]) => options.every(({ long }) => long !== '--json'))
  expect([...sentence.matchAll(/`([^`]+)`/g)].map(([, name]) => `wellhead ${name}`)).toEqual(
    without.map(([name]) => name).toSorted(),
  )
})

test('the help of every command has an example', () => {
  for (const [name, command] of commands) {
    let help = ''
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp()
    const [, afterUsage = ''] = help.split('Options:\n')
    expect(afterUsage, name).toMatch(new RegExp(`^ +(.*[ (])?${name}( |$)`, 'm'))
  }
})
