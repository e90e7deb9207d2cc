import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { memoryIo } from '../../../test/support/memory-io.ts'
import { scratchDirectory } from '../../../test/support/scratch.ts'
import { writeDataVersion } from '../../core/catalog/data-version.ts'
import type { Finding } from '../kit/finding.ts'
import { runProgram } from '../program.ts'
import { checkAdminToken, checkClock, checkVersions, judgeSpace } from './doctor.ts'

function temporary(): string {
  const { path, remove } = scratchDirectory()
  onTestFinished(remove)
  return path
}

async function doctor(args: string[], environment: Record<string, string> = {}) {
  const io = memoryIo({ environment })
  const code = await runProgram(['doctor', '--no-engine', '--json', ...args], io)
  const { ok, checks } = JSON.parse(io.stdout.text()) as { ok: boolean; checks: Finding[] }
  return { code, ok, checks, find: (name: string) => checks.find((one) => one.name === name) }
}

describe('wellhead doctor', () => {
  test('reports all invalid settings and still checks the machine', async () => {
    const { code, ok, checks } = await doctor(['--port', 'x'], { WELLHEAD_TYPO: '1' })
    expect([code, ok]).toEqual([1, false])
    expect(checks.filter(({ name }) => name === 'settings').map(({ message }) => message)).toEqual([
      'WELLHEAD_TYPO is not a setting. See wellhead serve --help for all settings.',
      '--port must be a whole number from 0 to 65535, not "x".',
    ])
    expect(checks.map(({ name }) => name)).toContain('node')
  })

  test('accepts a data directory that does not exist yet, and rejects a file', async () => {
    const directory = temporary()
    const { find } = await doctor(['--port', '0', '--data-dir', join(directory, 'deep', 'data')])
    expect(find('data')).toMatchObject({ status: 'ok', message: expect.stringContaining('not exist yet') })
    const file = join(directory, 'file')
    writeFileSync(file, '')
    const rejected = await doctor(['--port', '0', '--data-dir', file])
    expect([rejected.code, rejected.find('data')?.status]).toEqual([1, 'problem'])
  })

  test('expects a reserve only on a disk that has the entries', async () => {
    const args = ['--port', '0', '--data-dir', temporary()]
    const reserve = { WELLHEAD_DISK_RESERVE: '900TiB' }
    const server = { WELLHEAD_CLICKHOUSE_URL: 'http://127.0.0.1:9' }
    expect((await doctor(args, reserve)).find('disk')?.status).toBe('problem')
    expect((await doctor(args, { ...reserve, ...server })).find('disk')?.status).toBe('ok')
  })

  test('reports permissions that are too wide', async () => {
    const directory = temporary()
    chmodSync(directory, 0o755)
    const token = join(directory, 'admin-token')
    writeFileSync(token, 'x', { mode: 0o644 })
    const { find } = await doctor(['--port', '0', '--data-dir', directory])
    expect(find('data')).toMatchObject({ status: 'warning', advice: expect.stringContaining('chmod 700') })
    const advice = expect.stringContaining('chmod 600')
    expect(find('admin token')).toMatchObject({ status: 'problem', advice })
    chmodSync(token, 0o600)
    expect(checkAdminToken(token, false).status).toBe('ok')
  })

  test('reports data of a newer version without an engine', async () => {
    const directory = temporary()
    writeDataVersion(directory)
    const file = join(directory, 'version.json')
    writeFileSync(file, readFileSync(file, 'utf8').replace(/"schema":\d+/, '"schema":999'))
    const { code, find } = await doctor(['--port', '0', '--data-dir', directory])
    const message = expect.stringMatching(/has schema 999; .* Start Wellhead/)
    expect([code, find('data')]).toEqual([1, { name: 'data', status: 'problem', message }])
  })

  test('warns if customers without a project would see all projects', async () => {
    const environment = {
      ...{ WELLHEAD_OIDC_ISSUER: 'https://login.example.com', WELLHEAD_OIDC_CLIENT_ID: 'wellhead' },
      ...{ WELLHEAD_OIDC_CLIENT_SECRET: 'x', WELLHEAD_PUBLIC_URL: 'https://logs.example.com' },
      ...{ WELLHEAD_OIDC_PROJECT_CLAIM: 'project', WELLHEAD_OIDC_ROLES: 'admin=ops,viewer=*' },
    }
    const args = ['--port', '0', '--data-dir', temporary()]
    const { find } = await doctor(args, environment)
    const message = expect.stringContaining('without the claim project has the role viewer')
    expect(find('sign-in')).toMatchObject({ status: 'warning', message })
    for (const change of [{ WELLHEAD_OIDC_ROLES: 'viewer=staff' }, { WELLHEAD_OIDC_PROJECT_CLAIM: '' }]) {
      expect((await doctor(args, { ...environment, ...change })).find('sign-in')).toBeUndefined()
    }
  })

  test('reports a port that another program uses', async () => {
    const server = createServer((socket) => socket.end('SSH-2.0\r\n'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const { find } = await doctor(['--port', String(port), '--data-dir', temporary()])
    server.close()
    const message = expect.stringContaining('already in use')
    expect(find('port')).toMatchObject({ status: 'problem', message })
  })

  test('accepts a port that another program uses if the service of the data directory has another one', async () => {
    const directory = temporary()
    writeFileSync(join(directory, 'admin-token'), 'a-token-of-a-service', { mode: 0o600 })
    const own = { url: 'http://127.0.0.1:9', pid: process.pid, version: '0.1.0', started_at: '' }
    writeFileSync(join(directory, 'service.json'), JSON.stringify(own))
    const server = createServer((socket) => socket.end('SSH-2.0\r\n'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const { find } = await doctor(['--port', String(port), '--data-dir', directory])
    server.close()
    expect(find('port')).toMatchObject({ status: 'ok', message: '127.0.0.1:9, used by this service' })
  })

  test('prints one line per check, with the advice below', async () => {
    const io = memoryIo()
    await runProgram(['doctor', '--no-engine', '--port', '0', '--data-dir', '/dev/null/x'], io)
    expect(io.stdout.text()).toMatch(/^ok {7}settings/)
    expect(io.stdout.text()).toMatch(/problem {2}data .*\n {10,}\S/)
  })
})

const mebi = 2 ** 20

const checkNode = (version: string) => checkVersions(version)[1]

test.each<[string, Finding | undefined, Finding['status'] | undefined]>([
  ['the oldest Node', checkNode('v20.19.0'), 'ok'],
  ['a newer Node', checkNode('v22.1.0'), 'ok'],
  ['a Node that is too old', checkNode('v20.18.3'), 'problem'],
  ['a much older Node', checkNode('v18.20.0'), 'problem'],
  ['less space than the reserve', judgeSpace(500 * mebi, 1_000 * mebi), 'problem'],
  ['little space', judgeSpace(3_000 * mebi, 1_000 * mebi), 'warning'],
  ['enough space', judgeSpace(5_000 * mebi, 1_000 * mebi), 'ok'],
  ['less space than a start requires', judgeSpace(255 * mebi, 16 * mebi), 'problem'],
  ['as much space as a start requires', judgeSpace(256 * mebi, 16 * mebi), 'ok'],
  ['a plain clock', checkClock(Date.UTC(2026, 10, 15)), 'ok'],
  ['a clock in the past', checkClock(0), 'problem'],
])('judges %s', (_, finding, status) => {
  expect(finding?.status).toBe(status)
})
