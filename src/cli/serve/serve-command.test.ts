import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { memoryOutput } from '../../../test/support/memory-io.ts'
import { flagOf, settingNames } from '../../base/settings.ts'
import { banner, shownToken } from './run-service.ts'
import { readServeArguments, serveHelp } from './serve-command.ts'

test.each([
  [undefined, '$(cat ./data/admin-token)'],
  ['set-by-the-operator', '$WELLHEAD_ADMIN_TOKEN'],
])('the demo shows where the admin token %j is', (adminToken, expected) => {
  expect(shownToken({ adminToken, dataDir: './data' })).toBe(expected)
})

describe('the banner', () => {
  const url = 'http://127.0.0.1:4000'
  const { colors } = memoryOutput()
  const show = (made: boolean, adminToken: string | undefined, demo = false) =>
    banner(
      { url, adminToken: { token: 'wh_secret', made, keep: () => {} } },
      { adminToken, dataDir: '/d' },
      demo,
      colors,
    )

  test('has the token at the first start only', () => {
    expect(show(true, undefined)).toContain(
      'Admin token  wh_secret  (shown only once, stored in /d/admin-token)',
    )
    expect(show(true, undefined)).toContain("curl -H 'X-API-KEY: wh_secret' 'http://127.0.0.1:4000/api/")
    const later = show(false, undefined)
    expect(later).toContain('Admin token  stored in /d/admin-token')
    expect(later).toContain('curl -H "X-API-KEY: $(cat /d/admin-token)"')
    expect(later).not.toContain('wh_secret')
  })

  test('never has a token that was set', () => {
    expect(show(false, 'wh_secret')).toContain('Admin token  set by WELLHEAD_ADMIN_TOKEN')
    expect(show(false, 'wh_secret')).not.toContain('wh_secret')
  })

  test('has the address of the console, and leaves requests to the demo', () => {
    expect(show(false, undefined, true)).toContain('Console      http://127.0.0.1:4000/\n')
    expect(show(false, undefined, true)).not.toContain('curl')
  })
})

describe('wellhead serve', () => {
  const withPort = { WELLHEAD_PORT: '4200', WELLHEAD_HOST: 'localhost' }
  test.each([
    ['uses defaults without flags', [], {}, { host: '127.0.0.1', port: 4000 }],
    [
      'accepts values after a space or an equals sign',
      ['--port', '4100', '--data-dir=./elsewhere'],
      {},
      { port: 4100, dataDir: resolve('elsewhere') },
    ],
    ['prefers flags to the environment', ['--port', '4100'], withPort, { port: 4100, host: 'localhost' }],
    ['uses the last of two equal flags', ['--port', '1', '--port', '2'], {}, { port: 2 }],
  ])('%s', (_, args, environment, settings) => {
    expect(readServeArguments(args, environment)).toMatchObject({ kind: 'serve', settings })
  })

  const unknownFlag = (flag: string, meant = '') =>
    `Unknown flag ${flag}.${meant && ` Did you mean ${meant}?`} List all flags with: wellhead serve --help`
  test.each([
    ['an unknown flag, without its value', ['--prot=hush'], [unknownFlag('--prot', '--port')]],
    ['an unknown short flag', ['-p'], [unknownFlag('-p')]],
    ['a flag without a value', ['--host', '::1', '--port'], ['--port needs a value.']],
    ['a flag in place of a value', ['--port', '--host=x'], ['--port needs a value.']],
    ['an invalid empty value', ['--port='], [expect.stringMatching(/^--port must be .* from 0 to 65535/)]],
    ['an argument', ['4100'], ['Argument 1 is unexpected.']],
    ['an argument after --', ['--', '--port'], ['Argument 2 is unexpected.']],
    [
      'the value of a mistyped flag without showing it, because it may be a secret',
      ['--admin-tokn', 'secret'],
      [unknownFlag('--admin-tokn', '--admin-token'), 'Argument 2 is unexpected.'],
    ],
  ])('reports %s', (_, args, problems) => {
    expect(readServeArguments(args, {})).toEqual({ kind: 'problems', problems })
  })

  test('reports all errors of flags and environment together', () => {
    const environment = { WELLHEAD_LOG_LEVEL: 'loud', WELLHEAD_TYPO: '1' }
    const args = ['extra', '--nope', '--port', 'x', '--host']
    expect(readServeArguments(args, environment)).toEqual({
      kind: 'problems',
      problems: [
        'Argument 1 is unexpected.',
        unknownFlag('--nope'),
        '--host needs a value.',
        ...['WELLHEAD_TYPO', '--port', 'WELLHEAD_LOG_LEVEL'].map((name) => expect.stringContaining(name)),
      ],
    })
  })

  test.each([[['--help']], [['-h']], [['--port', '4100', '--help']], [['--port', 'x', '-h']]])(
    '%j shows the help, whatever else is set',
    (args) => {
      expect(readServeArguments(args, { WELLHEAD_PORT: 'x' })).toEqual({ kind: 'help' })
    },
  )

  test('the help lists every flag', () => {
    for (const name of settingNames) expect(serveHelp()).toContain(`--${flagOf(name)} <value>`)
  })
})
