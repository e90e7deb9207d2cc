import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mailServerOf } from './mail-server.ts'
import { readSettings, type Settings, settingDefinitions, settingNames, variableOf } from './settings.ts'

type Given = Parameters<typeof readSettings>

function settingsOf(...given: Given): Settings {
  const reading = readSettings(...given)
  if ('problems' in reading) throw new Error(reading.problems.join('\n'))
  return reading.settings
}

function problemsOf(...given: Given): string[] {
  const reading = readSettings(...given)
  return 'problems' in reading ? reading.problems : []
}

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
      embedOrigins: ['*'],
      liveStreams: 1000,
      engineTimeoutFactor: 1,
      statistics: true,
      metrics: 'token',
      logLevel: 'info',
      mcpWrite: false,
      sessionHours: 12,
      oidcScopes: 'openid profile email',
      oidcGroupsClaim: 'groups',
      oidcCustomerScopes: ['query'],
      oidcUnverifiedEmail: 'refuse',
      linkDays: 90,
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

  test('accepts a PNG or SVG file as the logo, and a color of six digits', () => {
    const icon = 'console/src/icon.svg'
    const brand = {
      WELLHEAD_BRAND_LOGO: icon,
      WELLHEAD_BRAND_COLOR: '#0F766e',
      WELLHEAD_BRAND_NAME: ' Blue ',
    }
    expect(settingsOf(brand)).toMatchObject({
      brandLogo: resolve(icon),
      brandColor: '#0F766e',
      brandName: 'Blue',
    })
    expect(problemsOf({ WELLHEAD_BRAND_LOGO: 'package.json', WELLHEAD_BRAND_COLOR: 'red' })).toEqual([
      'WELLHEAD_BRAND_LOGO must be a PNG or SVG file of at most 256 KiB, not "package.json".',
      'WELLHEAD_BRAND_COLOR must be a color such as #0f766e, not "red".',
    ])
    const scratch = mkdtempSync(join(tmpdir(), 'wellhead-logo-'))
    const accepts = (name: string, content: Buffer | string) => {
      writeFileSync(join(scratch, name), content)
      return 'settings' in readSettings({ WELLHEAD_BRAND_LOGO: join(scratch, name) })
    }
    mkdirSync(join(scratch, 'folder.svg'))
    try {
      const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
      expect([accepts('a.png', png), accepts('a.png', '<svg>'), accepts('a.txt', png)]).toEqual([
        true,
        false,
        false,
      ])
      expect([accepts('a.svg', '<?xml?><svg>'), accepts('a.svg', png), accepts('a.svg', '')]).toEqual([
        true,
        false,
        false,
      ])
      expect(problemsOf({ WELLHEAD_BRAND_LOGO: join(scratch, 'folder.svg') })).toHaveLength(1)
    } finally {
      rmSync(scratch, { recursive: true })
    }
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
      WELLHEAD_STATISTICS: 'off',
      WELLHEAD_METRICS: 'open',
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
      embedOrigins: ['*'],
      liveStreams: 1000,
      engineNode: '/opt/node',
      engineTimeoutFactor: 2.5,
      statistics: false,
      metrics: 'open',
      logLevel: 'debug',
      mcpWrite: false,
      sessionHours: 12,
      oidcScopes: 'openid profile email',
      oidcGroupsClaim: 'groups',
      oidcCustomerScopes: ['query'],
      oidcUnverifiedEmail: 'refuse',
      linkDays: 90,
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

  test.each([
    [
      'smtps://mail.example.com',
      { host: 'mail.example.com', tls: 'implicit', port: undefined, auth: undefined },
    ],
    ['smtps://a:b@[::1]:1465/', { host: '::1', tls: 'implicit', port: 1465, auth: { user: 'a', pass: 'b' } }],
    [
      'smtp://a%40b:%C3%A4%2F@h:25',
      { host: 'h', tls: 'required', port: 25, auth: { user: 'a@b', pass: 'ä/' } },
    ],
    ['smtp://mailpit:1025?tls=off', { host: 'mailpit', tls: 'off', port: 1025, auth: undefined }],
  ])('reads the mail server %s', (WELLHEAD_SMTP_URL, expected) => {
    expect(mailServerOf(WELLHEAD_SMTP_URL)).toEqual(expected)
    for (const WELLHEAD_SMTP_FROM of ['alerts@example.com', 'Wellhead Älerts <alerts@example.com>']) {
      expect(problemsOf({ WELLHEAD_SMTP_URL, WELLHEAD_SMTP_FROM })).toEqual([])
    }
    expect(problemsOf({ WELLHEAD_SMTP_URL })).toEqual(['WELLHEAD_SMTP_URL needs WELLHEAD_SMTP_FROM.'])
  })

  test.each([
    ...['mail.example.com', 'https://h', 'smtp:h', 'smtp://', 'smtp://h/path', 'smtp://h#f', 'smtp://a;b'],
    ...['smtp://hush@h', 'smtp://:hush@h', 'smtp://a:%zz@h', 'smtp://a:hush@h?tls=off', 'smtps://h?tls=off'],
    ...['smtp://h?tls=none', 'smtp://h:99999'],
  ])('refuses the mail server %j without showing it', (WELLHEAD_SMTP_URL) => {
    const problems = problemsOf({ WELLHEAD_SMTP_URL, WELLHEAD_SMTP_FROM: 'a@b.example' })
    expect(problems).toEqual([
      expect.stringMatching(/^WELLHEAD_SMTP_URL must be [^"]+ without a password\.$/),
    ])
  })

  test.each([
    'alerts',
    'a@b.example\nBcc: c@d.example',
    'A\n<a@b.example>',
    'a@b.example, c@d.example',
    '<>',
  ])('refuses the sender %j', (WELLHEAD_SMTP_FROM) => {
    expect(problemsOf({ WELLHEAD_SMTP_URL: 'smtps://h', WELLHEAD_SMTP_FROM })).toHaveLength(1)
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

describe('docs/reference/settings.md', () => {
  const page = readFileSync(new URL('../../../docs/reference/settings.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^- `(\w+)` \((none|[^`)]+|`[^`]*`)\): (.+)$/gm)].map(
    ([, variable, preset, description]) => ({ variable, preset, description }),
  )

  /** The default depends on the machine. */
  const inWords: Partial<Record<string, string>> = { engineMemory: 'half of the memory' }

  test('lists every setting with its variable and default, and no other', () => {
    const expected = settingNames.map((name) => {
      const { default: preset } = settingDefinitions[name]
      return {
        variable: variableOf(name),
        preset: inWords[name] ?? (preset === undefined ? 'none' : `\`${preset}\``),
        description: expect.stringMatching(/\w.*\.$/),
      }
    })
    expect(rows).toEqual(expected)
  })

  test('names no variable that is not a setting', () => {
    const known = new Set(settingNames.map(variableOf))
    const named = new Set(page.match(/WELLHEAD_[A-Z_]*[A-Z]/g))
    expect([...named].filter((variable) => !known.has(variable))).toEqual([])
  })
})

describe('the settings of an issuer', () => {
  const issuer = {
    WELLHEAD_OIDC_ISSUER: 'https://login.example.com',
    WELLHEAD_OIDC_CLIENT_ID: 'wellhead',
    WELLHEAD_OIDC_CLIENT_SECRET: 'secret',
    WELLHEAD_PUBLIC_URL: 'https://logs.example.com',
    WELLHEAD_OIDC_ROLES: 'admin=ops, editor = dev|data,viewer=*',
  }

  test('reads roles with their groups, in order', () => {
    expect(settingsOf(issuer).oidcRoles).toEqual([
      { role: 'admin', groups: ['ops'] },
      { role: 'editor', groups: ['dev', 'data'] },
      { role: 'viewer', groups: ['*'] },
    ])
  })

  test('reads the scopes of customers', () => {
    const scopes = {
      WELLHEAD_OIDC_CUSTOMER_SCOPES: 'query:logs.all, search search:edge_logs dashboard:traffic',
    }
    const expected = ['query:logs.all', 'search', 'search:edge_logs', 'dashboard:traffic']
    expect(settingsOf({ ...issuer, ...scopes }).oidcCustomerScopes).toEqual(expected)
  })

  test.each([
    [{ WELLHEAD_OIDC_CLIENT_ID: '' }, 'WELLHEAD_OIDC_ISSUER needs WELLHEAD_OIDC_CLIENT_ID.'],
    [{ WELLHEAD_PUBLIC_URL: '' }, 'WELLHEAD_OIDC_ISSUER needs WELLHEAD_PUBLIC_URL.'],
    [
      { WELLHEAD_OIDC_ROLES: '' },
      'WELLHEAD_OIDC_ISSUER needs WELLHEAD_OIDC_ROLES or WELLHEAD_OIDC_PROJECT_CLAIM.',
    ],
    [{ WELLHEAD_OIDC_ROLES: 'owner=ops' }, 'WELLHEAD_OIDC_ROLES must be roles with groups'],
    [{ WELLHEAD_OIDC_ROLES: 'admin' }, 'WELLHEAD_OIDC_ROLES must be roles with groups'],
    [{ WELLHEAD_OIDC_CUSTOMER_SCOPES: 'query,read' }, 'WELLHEAD_OIDC_CUSTOMER_SCOPES must be query, search'],
    [{ WELLHEAD_OIDC_CUSTOMER_SCOPES: 'admin' }, 'WELLHEAD_OIDC_CUSTOMER_SCOPES must be query, search'],
    [{ WELLHEAD_OIDC_ISSUER: 'http://login.example.com' }, 'WELLHEAD_OIDC_ISSUER must be an https:// URL'],
    [{ WELLHEAD_PUBLIC_URL: 'https://logs.example.com/x' }, 'WELLHEAD_PUBLIC_URL must be an origin'],
  ])('refuses %j', (change, problem) => {
    expect(readSettings({ ...issuer, ...change })).toEqual({ problems: [expect.stringContaining(problem)] })
  })
})
