import { expect, onTestFinished, test } from 'vitest'
import { runProgram } from '../../../src/cli/program.ts'
import { neededGrants } from '../../../src/core/engine/grants.ts'
import { memoryIo } from '../../support/memory-io.ts'
import { selfSigned } from '../../support/network/certificates.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { openScriptedServer, type Script } from './scripted-server.ts'

const password = 'hidden-password'

/** Runs `wellhead serve`, which must fail. */
async function start(url: string, environment: Record<string, string> = {}) {
  const directory = scratchDirectory()
  const io = memoryIo({
    environment: {
      WELLHEAD_PORT: '0',
      WELLHEAD_DATA_DIR: directory.path,
      WELLHEAD_LOG_LEVEL: 'silent',
      WELLHEAD_CLICKHOUSE_URL: url,
      WELLHEAD_CLICKHOUSE_USER: 'wellhead',
      WELLHEAD_CLICKHOUSE_PASSWORD: password,
      ...environment,
    },
  })
  const code = await runProgram(['serve'], io)
  directory.remove()
  const output = io.stderr.text()
  expect(output).not.toContain(password)
  expect(io.stdout.text()).toBe('')
  return { code, output }
}

async function startOn(script: Script, environment?: Record<string, string>) {
  const server = await openScriptedServer(script)
  onTestFinished(() => server.close())
  const { code, output } = await start(server.url, environment)
  return { code, output: output.replace(server.url, 'URL') }
}

/** One line, and the exit code of other problems at the start. */
const line = (text: string) => ({ code: 1, output: `wellhead: URL: ${text}\n` })

// Messages as ClickHouse 25.3 writes them.
const wrongPassword =
  'wellhead: Authentication failed: password is incorrect, or there is no user with such name.\n\n' +
  'If you use ClickHouse Cloud, the password can be reset at https://clickhouse.cloud/\n' +
  'on the settings page for the corresponding service.\n\n. (AUTHENTICATION_FAILED)'
// As ClickHouse 18.16 writes it.
const unknownSetting =
  'Code: 115, e.displayText() = DB::Exception: Unknown setting async_insert, e.what() = DB::Exception\n'
const html = '<!DOCTYPE html><html><body>Welcome to nginx!</body></html>'
const nativePort = 'Port 9000 is for clickhouse-client program\r\nYou must use port 8123 for HTTP.\r\n'
const cannotCreate =
  (code: number, text: string): Script =>
  (sql) => {
    if (sql.startsWith('CREATE DATABASE')) return { code, text }
    return undefined
  }

const notConnected = (text: string) =>
  `Cannot connect to ClickHouse. ${text} Check that it is running, and WELLHEAD_CLICKHOUSE_URL: http:// or https://, and the HTTP port.`
const readOnly = 'The ClickHouse user is read-only. Set readonly to 0 in its profile.'

test.each<[string, Script, string]>([
  [
    'a wrong password',
    () => ({ code: 516, text: wrongPassword }),
    'ClickHouse refuses the service: AUTHENTICATION_FAILED. It says: wellhead: Authentication failed: ' +
      'password is incorrect, or there is no user with such name. See docs/cluster.md.',
  ],
  [
    'an old version',
    (sql) => (sql === 'SELECT version()' ? '24.8.14.39\n' : undefined),
    'ClickHouse 24.8.14.39 is too old. Upgrade it to 25.3 or newer.',
  ],
  [
    'a version that refuses new settings',
    (_sql, parameters) => (parameters.size === 0 ? '18.16.1\n' : { status: 404, body: unknownSetting }),
    'ClickHouse 18.16.1 is too old. Upgrade it to 25.3 or newer.',
  ],
  ['a user that may only read', (sql) => (sql.startsWith('SELECT getSetting') ? '2\n' : undefined), readOnly],
  [
    'a grant that only a statement needs',
    cannotCreate(
      497,
      "wellhead: Not enough privileges. To execute this query, it's necessary to have the grant CREATE DATABASE ON wellhead.*. (ACCESS_DENIED)",
    ),
    'ClickHouse refuses the service: ACCESS_DENIED. It says: wellhead: Not enough privileges. To execute this query, ' +
      "it's necessary to have the grant CREATE DATABASE ON wellhead.*. See docs/cluster.md.",
  ],
  [
    'a full disk',
    cannotCreate(243, 'Cannot reserve 1.00 MiB, not enough space. (NOT_ENOUGH_SPACE)'),
    'The disk of ClickHouse is full. Free some space.',
  ],
  [
    'a fixed setting',
    (sql) =>
      sql.includes('system.databases')
        ? {
            code: 452,
            text: 'Setting max_result_bytes should not be changed. (SETTING_CONSTRAINT_VIOLATION)',
          }
        : undefined,
    'ClickHouse refuses the service: SETTING_CONSTRAINT_VIOLATION. ' +
      'It says: Setting max_result_bytes should not be changed. See docs/cluster.md.',
  ],
  [
    'a cluster that does not exist',
    (sql) =>
      sql.includes('clusterAllReplicas')
        ? { code: 701, text: "Requested cluster 'other' not found. (CLUSTER_DOESNT_EXIST)" }
        : undefined,
    "ClickHouse refuses the service: CLUSTER_DOESNT_EXIST. It says: Requested cluster 'other' not found. See docs/cluster.md.",
  ],
  ['a web page', () => html, notConnected('HTTP status 200: what responds is not ClickHouse.')],
  ['a proxy without a server', () => ({ status: 502, body: 'Bad\n' }), notConnected('HTTP status 502: Bad.')],
  [
    'the native port',
    () => ({ status: 400, body: nativePort }),
    notConnected('HTTP status 400: Port 9000 is for clickhouse-client program.'),
  ],
])('a start reports %s in one line', async (_name, script, expected) => {
  expect(await startOn(script, { WELLHEAD_CLICKHOUSE_CLUSTER: 'other' })).toEqual(line(expected))
})

test('a start reports missing grants with the statements that grant them', async () => {
  const { output } = await startOn((sql) => (sql.startsWith('CHECK GRANT') ? '0\n' : undefined))
  const granted = neededGrants('wellhead', undefined).map((grant) => `GRANT ${grant} TO wellhead`)
  expect(output).toContain(`The ClickHouse user lacks a grant. Run: ${granted.join('; ')}\n`)
})

test('a start reports a port where nothing listens, a host that does not exist, and problems of TLS', async () => {
  expect(await start('http://127.0.0.1:1')).toEqual({
    code: 1,
    output: `wellhead: http://127.0.0.1:1: ${notConnected('connect ECONNREFUSED 127.0.0.1:1.')}\n`,
  })
  const { code, output } = await start('http://clickhouse.invalid:8123')
  expect(code).toBe(1)
  expect(output).toMatch(
    /: Cannot connect to ClickHouse\. getaddrinfo \w+ clickhouse\.invalid\. Check that .*\n$/,
  )
  const server = await openScriptedServer(() => undefined)
  const secure = await openScriptedServer(() => undefined, { tls: selfSigned })
  onTestFinished(() => {
    server.close()
    secure.close()
  })
  const wrongScheme = await start(server.url.replace('http:', 'https:'))
  expect(wrongScheme.output).toMatch(
    /: Cannot connect to ClickHouse\. .* http:\/\/ or https:\/\/, and the HTTP port\.\n$/,
  )
  expect((await start(secure.url)).output).toContain(
    ': Cannot connect to ClickHouse. self-signed certificate. ',
  )
})
