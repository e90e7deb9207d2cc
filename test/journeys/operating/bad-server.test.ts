import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { runProgram } from '../../../src/cli/program.ts'
import { memoryIo } from '../../support/memory-io.ts'
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

test.each<[string, Script, string]>([
  [
    'a wrong password',
    () => ({ code: 516, text: wrongPassword }),
    'ClickHouse refused the user or the password. Correct WELLHEAD_CLICKHOUSE_USER and WELLHEAD_CLICKHOUSE_PASSWORD.',
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
  [
    'a user that may not change settings',
    () => ({
      code: 164,
      text: "Cannot modify 'enable_http_compression' setting in readonly mode. (READONLY)",
    }),
    'The ClickHouse user is read-only. Set readonly to 0 in its settings profile, or use another user.',
  ],
  [
    'a user that may only read',
    (sql) => (sql.startsWith('SELECT getSetting') ? '2\n' : undefined),
    'The ClickHouse user is read-only. Set readonly to 0 in its settings profile, or use another user.',
  ],
  [
    'missing grants',
    (sql) => (/CHECK GRANT.*(?:ALTER TTL|DROP TABLE|system.parts)/.test(sql) ? '0\n' : undefined),
    'The ClickHouse user lacks a grant. ' +
      'Run: GRANT DROP TABLE, ALTER TTL ON wellhead.* TO wellhead; GRANT SELECT ON system.parts TO wellhead',
  ],
  [
    'a grant that only a statement needs',
    cannotCreate(
      497,
      "wellhead: Not enough privileges. To execute this query, it's necessary to have the grant CREATE DATABASE ON wellhead.*. (ACCESS_DENIED)",
    ),
    'The ClickHouse user lacks a grant. Run: GRANT CREATE DATABASE ON wellhead.* TO wellhead',
  ],
  [
    'a full disk',
    cannotCreate(243, 'Cannot reserve 1.00 MiB, not enough space. (NOT_ENOUGH_SPACE)'),
    'The disk of the ClickHouse server is full. Free disk space there, add a disk, or shorten the retention of sources.',
  ],
  [
    'a database that cannot be created',
    cannotCreate(36, 'Unknown database engine: Ordinary. (BAD_ARGUMENTS)'),
    'ClickHouse cannot create the database wellhead: Unknown database engine: Ordinary. ' +
      'Run as an administrator: CREATE DATABASE IF NOT EXISTS `wellhead`',
  ],
  [
    'a user without DDL',
    cannotCreate(
      392,
      'Cannot execute query. DDL queries are prohibited for the user wellhead. (QUERY_IS_PROHIBITED)',
    ),
    'ClickHouse refused a statement of the service. It says: Cannot execute query. DDL queries are prohibited for the user wellhead. See docs/cluster.md.',
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
    'ClickHouse refused a statement of the service. It says: Setting max_result_bytes should not be changed. See docs/cluster.md.',
  ],
  [
    'a web page',
    () => html,
    'This is an HTTP server, but not ClickHouse. Set WELLHEAD_CLICKHOUSE_URL to the HTTP port of ClickHouse, usually 8123, or 8443 with TLS.',
  ],
  [
    'a web server without the page',
    () => ({ status: 404, body: html }),
    'This is an HTTP server, but not ClickHouse. Set WELLHEAD_CLICKHOUSE_URL to the HTTP port of ClickHouse, usually 8123, or 8443 with TLS.',
  ],
  [
    'a proxy without a server',
    () => ({ status: 502, body: html }),
    'A proxy responded with HTTP status 502. Check that ClickHouse is running behind it.',
  ],
  [
    'the native port',
    () => ({ status: 400, body: nativePort }),
    'This is the native port of ClickHouse. Set WELLHEAD_CLICKHOUSE_URL to its HTTP port, usually 8123, or 8443 with TLS.',
  ],
])('a start reports %s in one line', async (_name, script, expected) => {
  expect(await startOn(script)).toEqual(line(expected))
})

test('a start reports an unknown cluster, and those that exist', async () => {
  expect(await startOn(() => undefined, { WELLHEAD_CLICKHOUSE_CLUSTER: 'other' })).toEqual(
    line(
      'ClickHouse has no cluster named other. Set WELLHEAD_CLICKHOUSE_CLUSTER to one of its clusters: main.',
    ),
  )
})

test('a start reports a port where nothing listens, a host that does not exist, and one that closes connections', async () => {
  const check = 'Check that it is running, the network, and WELLHEAD_CLICKHOUSE_URL.'
  expect(await start('http://127.0.0.1:1')).toEqual({
    code: 1,
    output: `wellhead: http://127.0.0.1:1: Cannot connect to ClickHouse. connect ECONNREFUSED 127.0.0.1:1. ${check}\n`,
  })
  const { code, output } = await start('http://clickhouse.invalid:8123')
  expect(code).toBe(1)
  expect(output).toMatch(
    /: Cannot connect to ClickHouse\. getaddrinfo \w+ clickhouse\.invalid\. Check that .*\n$/,
  )
  const closing = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => closing.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void closing.close())
  const { port } = closing.address() as { port: number }
  expect((await start(`http://127.0.0.1:${port}`)).output).toContain(
    'use https:// in WELLHEAD_CLICKHOUSE_URL',
  )
})

test('a start reports problems of TLS', async () => {
  const server = await openScriptedServer(() => undefined)
  const secure = await openScriptedServer(() => undefined, { tls: selfSigned })
  onTestFinished(() => {
    server.close()
    secure.close()
  })
  expect((await start(server.url.replace('http:', 'https:'))).output).toContain(
    ' Use http:// in WELLHEAD_CLICKHOUSE_URL, or the HTTPS port, usually 8443.\n',
  )
  expect((await start(secure.url)).output).toContain(
    ': Cannot connect to ClickHouse. self-signed certificate. ' +
      'Set NODE_EXTRA_CA_CERTS to the PEM file of its authority.\n',
  )
})

/** For other.example, valid until 2126. */
const selfSigned = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg25co3/DpHAYKECqL
MFTtsSxAQ53pTzEhbhs2AQ/Kv+GhRANCAAQ88IpYk8Z4UGN2gC491d2CpNH+Rx2d
Ml8Lm4w+qqZocyMD6RS/xcQNLK9vMRp5d/4qMjRIKKCDv4qX7YxpQraJ
-----END PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBoTCCAUegAwIBAgIUcdqyz8f5WiTKBll8uYtWLHCS4LQwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNb3RoZXIuZXhhbXBsZTAgFw0yNjExMTYwOTIyNTdaGA8yMTI2
MTAyMzA5MjI1N1owGDEWMBQGA1UEAwwNb3RoZXIuZXhhbXBsZTBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABDzwiliTxnhQY3aALj3V3YKk0f5HHZ0yXwubjD6qpmhz
IwPpFL/FxA0sr28xGnl3/ioyNEgooIO/ipftjGlCtomjbTBrMB0GA1UdDgQWBBSv
X0izpv1qlmrAsGQiWPI3F2ZmRTAfBgNVHSMEGDAWgBSvX0izpv1qlmrAsGQiWPI3
F2ZmRTAPBgNVHRMBAf8EBTADAQH/MBgGA1UdEQQRMA+CDW90aGVyLmV4YW1wbGUw
CgYIKoZIzj0EAwIDSAAwRQIgXQyG9chM2riY7k0NUi7N2Ju5r7LSEaU+bEyKIkA8
cQQCIQCrTUV0RdGhGvWzKabIDvM/NjChpqP+Z8qePxR8o6EBww==
-----END CERTIFICATE-----`,
}
