import { totalmem } from 'node:os'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { settingsReader } from '../../../test/support/settings.ts'
import { text } from './setting-values.ts'
import {
  coreSettings,
  type FeatureSettings,
  settingsOf as ofFeature,
  readSettings,
  settingsTable,
} from './settings.ts'

const { settingsOf, problemsOf } = settingsReader(coreSettings)

describe('readSettings', () => {
  test('uses every default in an empty environment', () => {
    expect(settingsOf({})).toEqual({
      host: '127.0.0.1',
      port: 4000,
      clickhouseDatabase: 'wellhead',
      dataDir: resolve('data'),
      engineMemory: expect.toSatisfy(
        (bytes: number) => bytes >= 2 ** 29 && bytes <= Math.max(2 ** 29, totalmem() / 2),
      ),
      cacheMemory: 128 * 2 ** 20,
      diskReserve: 256 * 2 ** 20,
      deleteAfter: 86_400_000,
      authFailuresPerMinute: 60,
      liveStreams: 1000,
      engineTimeoutFactor: 1,
      logLevel: 'info',
      sessionHours: 12,
      logFormat: 'auto',
    })
  })

  test('ignores the variables that Kubernetes sets for a service named wellhead', () => {
    const injected = {
      WELLHEAD_PORT: 'tcp://10.0.0.1:4000',
      WELLHEAD_SERVICE_HOST: '10.0.0.1',
      WELLHEAD_PORT_4000_TCP: 'x',
    }
    expect(settingsOf(injected).port).toBe(4000)
  })

  test('leaves a setting without a default undefined', () => {
    const { adminToken, clickhouseUrl, engineNode } = settingsOf({})
    expect([adminToken, clickhouseUrl, engineNode]).toEqual([undefined, undefined, undefined])
  })

  test('environment variables override defaults', () => {
    const settings = settingsOf({
      WELLHEAD_HOST: '0.0.0.0',
      WELLHEAD_PORT: '8080',
      WELLHEAD_DATA_DIR: '/srv/wellhead',
      WELLHEAD_ADMIN_TOKEN: 'sixteen-letters!',
      WELLHEAD_CLICKHOUSE_URL: 'https://user:secret@ch.example.com:8443/logs',
      WELLHEAD_CLICKHOUSE_USER: 'reader',
      WELLHEAD_CLICKHOUSE_PASSWORD: ' with spaces ',
      WELLHEAD_CLICKHOUSE_DATABASE: 'logs_2',
      WELLHEAD_CLICKHOUSE_CLUSTER: 'main-2',
      WELLHEAD_ENGINE_MEMORY: '4GiB',
      WELLHEAD_ENGINE_NODE: '/opt/node',
      WELLHEAD_ENGINE_PATIENCE: '2.5',
      WELLHEAD_LOG_LEVEL: 'debug',
      WELLHEAD_LOG_FORMAT: 'json',
    })
    expect(settings).toEqual({
      host: '0.0.0.0',
      port: 8080,
      dataDir: '/srv/wellhead',
      adminToken: 'sixteen-letters!',
      clickhouseUrl: 'https://user:secret@ch.example.com:8443/logs',
      clickhouseUser: 'reader',
      clickhousePassword: ' with spaces ',
      clickhouseDatabase: 'logs_2',
      clickhouseCluster: 'main-2',
      engineMemory: 4 * 2 ** 30,
      cacheMemory: 128 * 2 ** 20,
      diskReserve: 256 * 2 ** 20,
      deleteAfter: 86_400_000,
      authFailuresPerMinute: 60,
      liveStreams: 1000,
      engineNode: '/opt/node',
      engineTimeoutFactor: 2.5,
      logLevel: 'debug',
      sessionHours: 12,
      logFormat: 'json',
    })
  })

  test('a flag overrides the environment, even an invalid value', () => {
    expect(settingsOf({ WELLHEAD_PORT: '8080' }, { port: '9090' }).port).toBe(9090)
    expect(settingsOf({ WELLHEAD_PORT: 'eighty' }, { port: '9090' }).port).toBe(9090)
  })

  test('an empty variable counts as unset', () => {
    const settings = settingsOf({ WELLHEAD_PORT: '', WELLHEAD_ADMIN_TOKEN: '', WELLHEAD_CLICKHOUSE_URL: '' })
    expect(settings.port).toBe(4000)
    expect(settings).not.toHaveProperty('adminToken')
    expect(settings).not.toHaveProperty('clickhouseUrl')
  })

  test('an empty flag is a value, and rarely valid', () => {
    expect(problemsOf({}, { host: '' })).toEqual(['--host must be an address or host name, not "".'])
  })

  test('the settings are frozen', () => {
    expect(Object.isFrozen(settingsOf({}))).toBe(true)
  })

  test.each([
    [{ WELLHEAD_CLICKHOUSE_CLUSTER: 'main' }, 'WELLHEAD_CLICKHOUSE_CLUSTER needs WELLHEAD_CLICKHOUSE_URL'],
    [{ WELLHEAD_CLICKHOUSE_QUORUM: '2' }, 'WELLHEAD_CLICKHOUSE_QUORUM needs WELLHEAD_CLICKHOUSE_CLUSTER'],
  ])('%o is refused without the setting that it needs', (environment, problem) => {
    expect(problemsOf(environment)).toEqual([expect.stringContaining(problem)])
    const all = { WELLHEAD_CLICKHOUSE_URL: 'http://a', WELLHEAD_CLICKHOUSE_CLUSTER: 'main', ...environment }
    expect(problemsOf(all)).toEqual([])
  })

  test('lists all problems together, with the expected and the actual value', () => {
    const problems = problemsOf(
      {
        WELLHEAD_PORT: '65536',
        WELLHEAD_LOG_LEVEL: 'loud',
        WELLHEAD_CLICKHOUSE_CLUSTER: '1st',
        WELLHEAD_ENGINE_PATIENCE: '0.5',
        WELLHEAD_PROT: '4000',
      },
      { engineMemory: '511MiB' },
    )
    expect(problems).toEqual([
      'WELLHEAD_PROT is not a setting. See wellhead serve --help for all settings.',
      'WELLHEAD_PORT must be a whole number from 0 to 65535, not "65536".',
      'WELLHEAD_CLICKHOUSE_CLUSTER must be the name of a cluster, not "1st".',
      '--engine-memory must be a size of at least 512MiB, such as 4GiB, not "511MiB".',
      'WELLHEAD_ENGINE_PATIENCE must be a number from 1 to 100, not "0.5".',
      'WELLHEAD_LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent, not "loud".',
    ])
  })

  test.each([
    ['System'],
    ['default'],
    ['INFORMATION_SCHEMA'],
    ['1st'],
    ['a-b'],
    ['a.b'],
    ['a`'],
    ['a'.repeat(65)],
  ])('refuses the database %s', (WELLHEAD_CLICKHOUSE_DATABASE) =>
    expect(problemsOf({ WELLHEAD_CLICKHOUSE_DATABASE })).toHaveLength(1),
  )

  test('never shows a secret in a problem', () => {
    const problems = problemsOf(
      { WELLHEAD_ADMIN_TOKEN: 'short-hush', WELLHEAD_CLICKHOUSE_URL: 'ftp://user:hush@ch.example.com' },
      {},
    )
    expect(problems).toEqual([
      'WELLHEAD_ADMIN_TOKEN must be at least 16 printable characters without spaces.',
      'WELLHEAD_CLICKHOUSE_URL must be an http:// or https:// URL, or several separated by commas (write %2C for a comma in a password).',
    ])
    expect(problemsOf({}, { adminToken: 'hush hush hush hush' }).join()).not.toContain('hush')
  })

  test('reports an unknown variable only if it has the prefix WELLHEAD_', () => {
    expect(problemsOf({ WELLHEAD_POTR: 'a secret' })).toEqual([
      'WELLHEAD_POTR is not a setting. See wellhead serve --help for all settings.',
    ])
    expect(problemsOf({ PORT: 'x', PATH: '/bin', wellhead_port: 'x' })).toEqual([])
  })

  test('accepts the variables of the commands that use a service', () => {
    expect(problemsOf({ WELLHEAD_URL: 'http://127.0.0.1:4000', WELLHEAD_TOKEN: 'x' })).toEqual([])
  })

  test.each(['0', '1', '65535'])('accepts %s as a port', (port) => {
    expect(settingsOf({ WELLHEAD_PORT: port }).port).toBe(Number(port))
  })

  test.each(['-1', '65536', '4e3', '0x50', ' 80', '80 ', '80.0', '４０００', 'http'])(
    'rejects "%s" as a port',
    (port) => {
      expect(problemsOf({ WELLHEAD_PORT: port })).toHaveLength(1)
    },
  )

  test.each([
    ['536870912', 512 * 2 ** 20],
    ['536870912B', 512 * 2 ** 20],
    ['524288k', 512 * 2 ** 20],
    ['512m', 512 * 2 ** 20],
    ['512MB', 512 * 2 ** 20],
    ['512 MiB', 512 * 2 ** 20],
    ['0.5GiB', 512 * 2 ** 20],
    ['1.5g', 1.5 * 2 ** 30],
    ['4GiB', 4 * 2 ** 30],
    ['2TiB', 2 * 2 ** 40],
  ])('reads %s as a size, in units of 1024', (written, bytes) => {
    expect(settingsOf({ WELLHEAD_ENGINE_MEMORY: written }).engineMemory).toBe(bytes)
  })

  test.each(['511MiB', '0', '-4GiB', '4PiB', '4 G i B', 'GiB', '1e9', '50%', '4GiB '])(
    'rejects "%s" as a size for the engine',
    (written) => {
      expect(problemsOf({ WELLHEAD_ENGINE_MEMORY: written })).toHaveLength(1)
    },
  )

  test.each([
    'clickhouse.example.com',
    'tcp://host:9000',
    'file:///etc/passwd',
    'http://',
    '/path',
    'http://a,',
    'http://a b',
  ])('rejects "%s" as the URL of a ClickHouse server', (url) => {
    expect(problemsOf({ WELLHEAD_CLICKHOUSE_URL: url })).toHaveLength(1)
  })
})

describe('origins', () => {
  test.each([
    ['*', ['*']],
    ['https://app.example.com', ['https://app.example.com']],
    ['http://127.0.0.1:5173, https://app.example.com', ['http://127.0.0.1:5173', 'https://app.example.com']],
  ])('accepts %s', (written, origins) => {
    expect(settingsOf({ WELLHEAD_CORS_ORIGINS: written }).corsOrigins).toEqual(origins)
  })

  test.each([
    'app.example.com',
    'https://app.example.com/',
    'https://app.example.com/path',
    'https://App.example.com',
    'https://app.example.com:443',
    'https://user@app.example.com',
    'https://*.example.com',
    '*, https://app.example.com',
    'https://a.example.com,',
    'null',
    'file://',
    ' ',
  ])('rejects "%s", which no browser sends', (written) => {
    expect(problemsOf({ WELLHEAD_CORS_ORIGINS: written })).toHaveLength(1)
  })
})

describe('settings of features', () => {
  const row = { expected: 'a text', description: 'A row.', schema: text }
  const late: FeatureSettings = { feature: 'late', after: 'host', rows: { lateName: row } }
  const early: FeatureSettings = {
    feature: 'early',
    after: 'host',
    rows: { earlyName: { ...row, default: 'x', needs: ['port', ['lateName', 'lateOther']] } },
  }

  test('stand after a setting of core, those of later features first', () => {
    const names = Object.keys(settingsTable([early, late]))
    expect(names.slice(0, 4)).toEqual(['host', 'lateName', 'earlyName', 'port'])
  })

  test.each([
    [late, 'The setting lateName of the feature other is one of the feature late, too.'],
    [{ rows: { port: row } }, 'The setting port of the feature other is one of the core, too.'],
    [
      { rows: { enginePatience: row } },
      'The setting enginePatience of the feature other is one of the core, too.',
    ],
  ])('are refused if another one has the name: %o', ({ rows }, message) => {
    const other: FeatureSettings = { feature: 'other', after: 'port', rows }
    expect(() => settingsTable([late, other])).toThrow(message)
  })

  test('are no settings without the feature', () => {
    expect(problemsOf({ WELLHEAD_LATE_NAME: 'x' })).toEqual([
      'WELLHEAD_LATE_NAME is not a setting. See wellhead serve --help for all settings.',
    ])
    expect(() => ofFeature(settingsOf({}), early.rows)).toThrow('The setting earlyName was not read.')
  })

  test('are read with those of core, and need others', () => {
    const table = settingsTable([early, late])
    expect(readSettings(table, {})).toEqual({
      problems: ['WELLHEAD_EARLY_NAME needs WELLHEAD_LATE_NAME or WELLHEAD_LATE_OTHER.'],
    })
    const { settingsOf } = settingsReader(table)
    const rows = { ...early.rows, ...late.rows }
    expect(ofFeature(settingsOf({ WELLHEAD_LATE_NAME: 'y' }), rows)).toMatchObject({
      earlyName: 'x',
      lateName: 'y',
    })
  })
})
