import { describe, expect, test } from 'vitest'
import { memoryIo } from '../../test/support/memory-io.ts'
import { version } from '../base/package-file.ts'
import { colorsFor } from './command-io.ts'
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
    expect(stdout).toContain('--port <value>')
    expect((await run('serve', '--help')).stdout).toBe(stdout)
  })

  test.each([
    ['serve --dmeo', 'Unknown flag --dmeo. Did you mean --demo? '],
    ['sql --fromat', "unknown option '--fromat'\n(Did you mean --format?)\n"],
    ['token create --jsn', "required option '--scope <scope>' not specified\n"],
  ])('explains wellhead %s', async (args, expected) => {
    const { code, stderr } = await run(...args.split(' '))
    expect([code, stderr.slice(0, 10 + expected.length)]).toEqual([2, `wellhead: ${expected}`])
  })

  test('reports all invalid flags of serve and exits with 2', async () => {
    const { code, stderr } = await run('serve', '--colour=red', '--port', 'x')
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
