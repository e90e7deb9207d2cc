import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { flagOf, settingNames } from '../../base/settings.ts'
import { serveHelp } from '../help.ts'
import { shownToken } from './run-service.ts'
import { readServeArguments } from './serve.ts'

function problemsOf(args: string[], environment: Record<string, string> = {}): string[] {
  const read = readServeArguments(args, environment)
  return read.kind === 'problems' ? read.problems : []
}

test('the demo shows calls with a token that is there: in its file, or in the environment that set it', () => {
  expect(shownToken({ adminToken: undefined, dataDir: './data' })).toBe('$(cat ./data/admin-token)')
  expect(shownToken({ adminToken: 'chosen-by-the-operator', dataDir: './data' })).toBe(
    '$WELLHEAD_ADMIN_TOKEN',
  )
})

describe('the arguments of wellhead serve', () => {
  test('may be none at all', () => {
    expect(readServeArguments([], {})).toMatchObject({
      kind: 'serve',
      settings: { host: '127.0.0.1', port: 4000 },
    })
  })

  test('are flags with their value behind a space or an equals sign', () => {
    expect(readServeArguments(['--port', '4100', '--data-dir=./elsewhere'], {})).toMatchObject({
      kind: 'serve',
      settings: { port: 4100, dataDir: resolve('elsewhere') },
    })
  })

  test('win over the environment', () => {
    expect(
      readServeArguments(['--port', '4100'], { WELLHEAD_PORT: '4200', WELLHEAD_HOST: 'localhost' }),
    ).toMatchObject({ kind: 'serve', settings: { port: 4100, host: 'localhost' } })
  })

  test('the last of two equal flags counts', () => {
    expect(readServeArguments(['--port', '1', '--port', '2'], {})).toMatchObject({ settings: { port: 2 } })
  })

  test('a flag that does not exist is told by its name, without its value', () => {
    expect(problemsOf(['--prot=hush'])).toEqual([
      '--prot is no flag of serve. wellhead serve --help lists them.',
    ])
    expect(problemsOf(['-p'])).toEqual(['-p is no flag of serve. wellhead serve --help lists them.'])
  })

  test('a flag at the end without its value is told', () => {
    expect(problemsOf(['--host', '::1', '--port'])).toEqual(['--port needs a value.'])
  })

  test('an empty value is no missing one, but may still be wrong', () => {
    expect(problemsOf(['--port='])).toEqual(['--port must be a whole number from 0 to 65535, not "".'])
  })

  test('what is no flag is not expected', () => {
    expect(problemsOf(['4100'])).toEqual(['Argument 1 belongs to no flag of serve.'])
    expect(problemsOf(['--', '--port'])).toEqual(['Argument 2 belongs to no flag of serve.'])
    // The value of a mistyped flag may be a secret.
    expect(problemsOf(['--admin-tokn', 'secret']).join()).not.toContain('secret')
  })

  test('a flag is not taken for the value of another', () => {
    expect(problemsOf(['--port', '--host=x'])).toEqual(['--port needs a value.'])
  })

  test('all problems are told at once, those of the environment too', () => {
    expect(
      problemsOf(['extra', '--nope', '--port', 'x', '--host'], {
        WELLHEAD_LOG_LEVEL: 'loud',
        WELLHEAD_TYPO: '1',
      }),
    ).toEqual([
      'Argument 1 belongs to no flag of serve.',
      '--nope is no flag of serve. wellhead serve --help lists them.',
      '--host needs a value.',
      'WELLHEAD_TYPO is not a setting. See wellhead serve --help for all settings.',
      '--port must be a whole number from 0 to 65535, not "x".',
      'WELLHEAD_LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent, not "loud".',
    ])
  })

  test.each([[['--help']], [['-h']], [['--port', '4100', '--help']], [['--port', 'x', '-h']]])(
    '%j asks for help, whatever else is there',
    (args) => {
      expect(readServeArguments(args, { WELLHEAD_PORT: 'x' })).toEqual({ kind: 'help' })
    },
  )

  test('the help tells of every flag', () => {
    const help = serveHelp()
    for (const name of settingNames) expect(help).toContain(`--${flagOf(name)} <value>`)
  })
})
