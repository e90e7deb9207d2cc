import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { memoryIo } from '../../../test/support/memory-io.ts'
import { scratchDirectory } from '../../../test/support/scratch.ts'
import { createProgram, runProgram } from '../program.ts'
import { completedCommands, namedBy } from './completed-commands.ts'

const directory = scratchDirectory()
afterAll(() => directory.remove())

async function script(shell: string): Promise<string> {
  const io = memoryIo()
  expect(await runProgram(['completion', shell], io)).toBe(0)
  return io.stdout.text()
}

const commands = completedCommands(createProgram(memoryIo()))

test('knows every command and flag, without hidden ones', () => {
  const paths = commands.map(({ path }) => path)
  expect(paths).toEqual(expect.arrayContaining(['', 'serve', 'token', 'token create', 'logs search']))
  expect(paths.join(' ')).not.toContain('__names')
  for (const path of Object.keys(namedBy)) expect(paths).toContain(path)
  const flags = commands.find(({ path }) => path === 'serve')?.options.flatMap((option) => option.flags)
  expect(flags).toEqual(expect.arrayContaining(['--demo', '--port', '--log-format', '--help']))
})

test('rejects an unknown shell', async () => {
  const io = memoryIo()
  expect(await runProgram(['completion', 'tcsh'], io)).toBe(2)
  expect(io.stderr.text()).toContain('Allowed choices are bash, zsh, fish.')
})

test('prints no names and no error if no service is found', async () => {
  const io = memoryIo({ cwd: directory.path })
  expect(await runProgram(['__names', 'endpoints'], io)).toBe(0)
  expect([io.stdout.text(), io.stderr.text()]).toEqual(['', ''])
})

describe('bash', () => {
  beforeAll(async () => {
    writeFileSync(join(directory.path, 'script'), await script('bash'))
    writeFileSync(join(directory.path, 'wellhead'), '#!/bin/sh\n[ "$1" = __names ] && echo "names.of.$2"\n')
    chmodSync(join(directory.path, 'wellhead'), 0o755)
    writeFileSync(join(directory.path, 'a file'), '')
  })

  function complete(...words: string[]): string[] {
    const run = `
      . ./script
      [[ $(complete -p wellhead) == *_wellhead* ]] || exit 1
      COMP_WORDS=(wellhead "$@"); COMP_CWORD=$#
      _wellhead
      printf '%s\\n' "\${COMPREPLY[@]}"`
    const output = execFileSync('bash', ['--norc', '-c', run, 'bash', ...words], {
      cwd: directory.path,
      env: { PATH: `${directory.path}:${process.env.PATH}` },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    return output.toString().split('\n').filter(Boolean)
  }

  test('completes commands and subcommands', () => {
    expect(complete('')).toEqual(commands[0]?.commands.map(({ name }) => name))
    expect(complete('tok')).toEqual(['token'])
    expect(complete('token', '')).toEqual(['create', 'list', 'update', 'rotate', 'session', 'revoke'])
    expect(complete('logs', 's')).toEqual(['send', 'search'])
  })

  test('completes flags of a command, also after its arguments and other flags', () => {
    expect(complete('token', 'create', '--sc')).toEqual(['--scope'])
    expect(complete('endpoint', 'run', 'logs.all', '--fresh', '--ex')).toEqual(['--explain'])
    expect(complete('serve', '--log')).toEqual(['--log-level', '--log-format'])
    // The value of a flag is not a command.
    expect(complete('endpoint', 'list', '--url', 'token', '--js')).toEqual(['--json'])
  })

  test('completes values of flags, files and names', () => {
    expect(complete('endpoint', 'run', 'x', '--format', 'c')).toEqual(['csv'])
    expect(complete('completion', '')).toEqual(['bash', 'zsh', 'fish'])
    expect(complete('endpoint', 'run', 'x', '--output', 'a')).toEqual(['a file'])
    expect(complete('token', 'create', '--project', '')).toEqual([])
    expect(complete('endpoint', 'run', '')).toEqual(['names.of.endpoints'])
    expect(complete('pull', '')).toEqual(['names.of.endpoints'])
    expect(complete('logs', 'tail', 'n')).toEqual(['names.of.sources'])
    expect(complete('logs', 'send', '--source', '')).toEqual(['names.of.sources'])
  })
})

test.each([
  ['zsh', '#compdef wellhead\n'],
  ['fish', 'complete -c wellhead '],
])('the script for %s is valid where that shell is installed', async (shell, content) => {
  const text = await script(shell)
  expect(text).toContain(content)
  const file = join(directory.path, `script.${shell}`)
  writeFileSync(file, text)
  const { error, status, stderr } = spawnSync(shell, ['-n', file])
  if (error === undefined) expect([status, stderr.toString()]).toEqual([0, ''])
})
