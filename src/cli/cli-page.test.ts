import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { memoryIo } from '../../test/support/memory-io.ts'
import { createProgram } from './program.ts'

const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')

/** Those that do something, with the words that they are called by. */
function commandsOf(command: Command, words: readonly string[] = []): [string, Command][] {
  const called = [...words, command.name()]
  if (command.commands.length === 0) return [[called.join(' '), command]]
  return command.commands.flatMap((inner) => commandsOf(inner, called))
}

// Serve reads the flags of the settings, which have a page of their own.
const commands = commandsOf(createProgram(memoryIo())).filter(([name]) => name !== 'wellhead serve')

/** Arguments and flags as the help shows them. */
function rowsOf(command: Command): [string, string][] {
  const help = command.createHelp()
  const rows: [string, string][] = [
    ...command.registeredArguments.map((argument): [string, string] => [
      argument.required ? `<${argument.name()}>` : `[${argument.name()}${argument.variadic ? '...' : ''}]`,
      help.argumentDescription(argument),
    ]),
    ...command.options.map((option): [string, string] => [option.flags, help.optionDescription(option)]),
  ]
  // The three that name a service are told once for all commands.
  return rows.filter(([flags]) => !/^--(url|token|data-dir) /.test(flags) || !talksToService(command))
}

function talksToService({ options }: Command): boolean {
  return options.some(({ long }) => long === '--url')
}

/** A command's part of the page: its table, without the spaces that align it. */
function sectionOf(name: string): string[] | undefined {
  const section = page.split(/^##+ /m).find((part) => part.startsWith(`\`${name}\``))
  return section
    ?.split('\n')
    .filter((line) => /^\| `/.test(line))
    .map((line) => line.replace(/\s+/g, ' ').trim())
}

test('docs/cli.md has every command with its arguments and flags, in the words of its help, and no other', () => {
  const expected = commands.map(([name, command]) => ({
    name,
    rows: rowsOf(command).map(([flags, words]) => `| \`${flags}\` | ${words} |`),
  }))
  expect(commands.map(([name]) => ({ name, rows: sectionOf(name) }))).toEqual(expected)
  const told = [...page.matchAll(/^### `(wellhead [^`]+)`$/gm)].map(([, name]) => name)
  expect(told).toEqual(commands.map(([name]) => name))
})

test('the help of every command shows how it is given', () => {
  for (const [name, command] of commands) {
    let help = ''
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp()
    const [, behindUsage = ''] = help.split('Options:\n')
    expect(behindUsage, name).toMatch(new RegExp(`^ +(.*[ (])?${name}( |$)`, 'm'))
  }
})
