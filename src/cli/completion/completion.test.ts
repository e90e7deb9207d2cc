import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { memoryIo } from '../../../test/support/memory-io.ts'
import { scratchDirectory } from '../../../test/support/scratch.ts'
import { runProgram } from '../program.ts'

const directory = scratchDirectory()
afterAll(() => directory.remove())

async function run(...args: string[]): Promise<string> {
  const io = memoryIo({ cwd: directory.path })
  expect([await runProgram(args, io), io.stderr.text()]).toEqual([0, ''])
  return io.stdout.text()
}

/** The words that fit, without their descriptions. */
async function complete(...words: string[]): Promise<string[]> {
  const text = await run('__complete', ...words)
  return text.split('\n').flatMap((line) => line.split('\t')[0] || [])
}

test('rejects an unknown shell', async () => {
  const io = memoryIo()
  expect(await runProgram(['completion', 'tcsh'], io)).toBe(2)
  expect(io.stderr.text()).toContain('Allowed choices are bash, zsh, fish.')
})

test('completes commands and subcommands, without hidden ones', async () => {
  const commands = await complete('')
  expect(commands).toEqual(expect.arrayContaining(['serve', 'token', 'completion', 'help']))
  expect(commands.filter((name) => name.startsWith('_'))).toEqual([])
  expect(await run('__complete', 'tok')).toMatch(/^token\tcreate, list, .*\n$/)
  expect(await complete('token', '')).toEqual(['create', 'list', 'update', 'rotate', 'revoke'])
  expect(await complete('logs', 's')).toEqual(['send', 'search'])
})

test('completes flags of a command, also after its arguments and other flags', async () => {
  expect(await complete('token', 'create', '--sc')).toEqual(['--scope'])
  expect(await complete('endpoint', 'run', 'logs.all', '--fresh', '--ex')).toEqual(['--explain'])
  expect(await complete('serve', '--log')).toEqual(['--log-level', '--log-format'])
  // The value of a flag is not a command.
  expect(await complete('endpoint', 'list', '--url', 'token', '--js')).toEqual(['--json'])
})

test('completes values of flags, and files', async () => {
  expect(await complete('endpoint', 'run', 'x', '--format', 'c')).toEqual(['csv'])
  expect(await complete('completion', '')).toEqual(['bash', 'zsh', 'fish'])
  expect(await complete('endpoint', 'run', 'x', '--output', 'a')).toEqual([':files'])
  expect(await complete('serve', '--data-dir', '')).toEqual([':files'])
  expect(await complete('check', '')).toEqual([':files'])
  expect(await complete('token', 'create', '--project', '')).toEqual([])
  expect(await complete('endpoint', 'show', '')).toContain('--sql')
})

test('the script for bash offers words and files', async () => {
  writeFileSync(join(directory.path, 'script'), await run('completion', 'bash'))
  const answers = `#!/bin/sh\n[ "$2 $3" = 'sql --file' ] && echo ':files' || printf 'token\\tmanage tokens\\n'\n`
  writeFileSync(join(directory.path, 'wellhead'), answers)
  chmodSync(join(directory.path, 'wellhead'), 0o755)
  writeFileSync(join(directory.path, 'a file'), '')
  const shell = (...words: string[]) => {
    const program = `
      . ./script
      [[ $(complete -p wellhead) == *_wellhead* ]] || exit 1
      COMP_WORDS=(wellhead "$@"); COMP_CWORD=$#
      _wellhead
      printf '%s\\n' "\${COMPREPLY[@]}"`
    return execFileSync('bash', ['--norc', '-c', program, 'bash', ...words], {
      cwd: directory.path,
      env: { PATH: `${directory.path}:${process.env.PATH}` },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  }
  expect(shell('tok')).toBe('token\n')
  expect(shell('sql', '--file', 'a')).toBe('a file\n')
})

test.each([
  ['zsh', '#compdef wellhead\n'],
  ['fish', 'complete -c wellhead '],
])('the script for %s is valid where that shell is installed', async (shell, content) => {
  const text = await run('completion', shell)
  expect(text).toContain(content)
  const file = join(directory.path, `script.${shell}`)
  writeFileSync(file, text)
  const { error, status, stderr } = spawnSync(shell, ['-n', file])
  if (error === undefined) expect([status, stderr.toString()]).toEqual([0, ''])
})
