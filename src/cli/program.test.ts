import { describe, expect, test } from 'vitest'
import { memoryIo } from '../../test/support/memory-io.ts'
import { version } from '../base/version.ts'
import { wantsColor } from './command-io.ts'
import { runProgram } from './program.ts'

async function run(...args: string[]) {
  const io = memoryIo()
  const code = await runProgram(args, io)
  return { code, stdout: io.stdout.text(), stderr: io.stderr.text() }
}

describe('the command line', () => {
  test('shows its commands when it is asked for nothing', async () => {
    const { code, stdout, stderr } = await run()
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('serve')
    expect(await run('--help')).toEqual({ code, stdout, stderr })
    expect(await run('help')).toEqual({ code, stdout, stderr })
  })

  test('tells its version', async () => {
    expect(await run('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })

  test('a command that does not exist gets a suggestion, and exit code 2', async () => {
    const { code, stdout, stderr } = await run('srve')
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^wellhead: unknown command 'srve'\n\(Did you mean serve\?\)\n/)
  })

  test('the help of serve is the same by both ways', async () => {
    const { stdout } = await run('help', 'serve')
    expect(stdout).toContain('--port <value>')
    expect((await run('serve', '--help')).stdout).toBe(stdout)
  })

  test('mistakes in the flags of serve are told with exit code 2', async () => {
    const { code, stderr } = await run('serve', '--colour=red', '--port', 'x')
    expect(code).toBe(2)
    expect(stderr.trim().split('\n')).toHaveLength(2)
  })
})

test('colour is for terminals, unless somebody says otherwise', () => {
  expect(wantsColor(true, {})).toBe(true)
  expect(wantsColor(false, {})).toBe(false)
  expect(wantsColor(true, { NO_COLOR: '1' })).toBe(false)
  expect(wantsColor(true, { NO_COLOR: '' })).toBe(true)
  expect(wantsColor(false, { FORCE_COLOR: '1' })).toBe(true)
  expect(wantsColor(true, { FORCE_COLOR: '0' })).toBe(false)
  expect(wantsColor(true, { TERM: 'dumb' })).toBe(false)
  expect(wantsColor(false, { FORCE_COLOR: '1', NO_COLOR: '1' })).toBe(false)
})
