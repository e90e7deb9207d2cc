import { describe, expect, test } from 'vitest'
import { memoryIo } from '../../test/support/memory-io.ts'
import { version } from '../core/base/package-file.ts'
import { flagOf } from '../core/base/settings.ts'
import { loadSettings } from '../settings-table.ts'
import { colorsFor } from './kit/command-io.ts'
import { runProgram } from './program.ts'

async function run(...args: string[]) {
  const io = memoryIo()
  const code = await runProgram(args, io)
  return { code, stdout: io.stdout.text(), stderr: io.stderr.text() }
}

describe('the command line', () => {
  test('shows its commands without arguments', async () => {
    const { code, stdout, stderr } = await run()
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('serve')
    expect(await run('--help')).toEqual({ code, stdout, stderr })
    expect(await run('help')).toEqual({ code, stdout, stderr })
  })

  test('shows its version', async () => {
    expect(await run('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })

  test('suggests a command for an unknown one and exits with 2', async () => {
    const { code, stdout, stderr } = await run('srve')
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^wellhead: unknown command 'srve'\n\(Did you mean serve\?\)\n/)
  })

  test('shows the same help for help serve and serve --help', async () => {
    const { stdout } = await run('help', 'serve')
    for (const name of Object.keys(await loadSettings()))
      expect(stdout).toMatch(new RegExp(`^ +--${flagOf(name)} <`, 'm'))
    expect((await run('serve', '--port', 'x', '--help')).stdout).toBe(stdout)
  })

  test.each([
    ['serve --dmeo', "unknown option '--dmeo'\n(Did you mean --demo?)\n"],
    ['serve --admin-tokn=secret', "unknown option '--admin-tokn'\n"],
    ['serve --admin-tokn secret', "unknown option '--admin-tokn'\n(Did you mean --admin-token?)\n"],
    ['serve 4100', "too many arguments for 'serve'. Expected 0 arguments but got 1"],
    ['serve --host ::1 --port', "option '--port <value>' argument missing\n"],
    [
      'serve --port --host=x',
      "option '--port <value>' argument '--host' is invalid. The flag needs a value.\n",
    ],
    ['serve --port=', '--port must be a whole number from 0 to 65535, not "".'],
    ['serve --port 1 --port x', '--port must be a whole number from 0 to 65535, not "x".'],
    ['sql --fromat', "unknown option '--fromat'\n(Did you mean --format?)\n"],
    ['token create --jsn', "required option '--scope <scope>' not specified\n"],
  ])('explains wellhead %s', async (args, expected) => {
    const { code, stderr } = await run(...args.split(' '))
    expect([code, stderr.slice(0, 10 + expected.length)]).toEqual([2, `wellhead: ${expected}`])
    expect(stderr).not.toContain('secret')
  })

  test('reports all invalid settings of serve and exits with 2', async () => {
    const { code, stderr } = await run('serve', '--log-level', 'loud', '--port', 'x')
    expect(code).toBe(2)
    expect(stderr.trim().split('\n')).toHaveLength(2)
  })
})

test.each([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: '1' }, false],
  [true, { NO_COLOR: '' }, true],
  [false, { FORCE_COLOR: '1' }, true],
  [true, { FORCE_COLOR: '0' }, false],
  [true, { TERM: 'dumb' }, false],
  [false, { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
])('on a terminal %j with %j, colors are %j', (isTerminal, environment, expected) => {
  expect(colorsFor(isTerminal, environment).isColorSupported).toBe(expected)
})
