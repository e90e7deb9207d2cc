import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { memoryIo } from '../../../test/support/memory-io.ts'
import { runProgram } from '../program.ts'
import { checkAdminToken, judgeSpace } from './doctor-data.ts'
import { checkLibc, checkNode, checkOpenFiles } from './doctor-machine.ts'
import type { Finding } from './doctor-report.ts'
import { judgeClock } from './doctor-service.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'wellhead-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

async function doctor(args: string[], environment: Record<string, string> = {}) {
  const io = memoryIo({ environment })
  const code = await runProgram(['doctor', '--no-engine', '--json', ...args], io)
  const { ok, checks } = JSON.parse(io.stdout.text()) as { ok: boolean; checks: Finding[] }
  const find = (name: string) => checks.find((one) => one.name === name)
  return { code, ok, checks, find }
}

describe('the doctor', () => {
  test('tells every mistake in the settings, and goes on with the machine', async () => {
    const { code, ok, checks } = await doctor(['--port', 'x'], { WELLHEAD_TYPO: '1' })
    expect([code, ok]).toEqual([1, false])
    expect(checks.filter(({ name }) => name === 'settings').map(({ message }) => message)).toEqual([
      'WELLHEAD_TYPO is not a setting. See wellhead serve --help for all settings.',
      '--port must be a whole number from 0 to 65535, not "x".',
    ])
    expect(checks.map(({ name }) => name)).toContain('node')
  })

  test('looks at a data directory that is not there yet without making it', async () => {
    const { find } = await doctor(['--port', '0', '--data-dir', join(directory, 'deep', 'data')])
    expect(find('data')).toMatchObject({ status: 'ok', message: expect.stringContaining('not there yet') })
    const file = join(directory, 'file')
    writeFileSync(file, '')
    const wrong = await doctor(['--port', '0', '--data-dir', file])
    expect([wrong.code, wrong.find('data')?.status]).toEqual([1, 'problem'])
  })

  test('tells of rights that are too wide', async () => {
    chmodSync(directory, 0o755)
    const token = join(directory, 'admin-token')
    writeFileSync(token, 'x', { mode: 0o644 })
    const { find } = await doctor(['--port', '0', '--data-dir', directory])
    expect(find('data')).toMatchObject({ status: 'warning', advice: expect.stringContaining('chmod 700') })
    expect(find('admin token')).toMatchObject({
      status: 'problem',
      advice: expect.stringContaining('chmod 600'),
    })
    chmodSync(token, 0o600)
    expect(checkAdminToken(token, false)).toMatchObject([{ status: 'ok' }])
  })

  test('tells of a port that something else has', async () => {
    const server = createServer((socket) => socket.end('SSH-2.0\r\n'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const { find } = await doctor(['--port', String(port), '--data-dir', directory])
    server.close()
    expect(find('port')).toMatchObject({
      status: 'problem',
      message: expect.stringContaining('Something else'),
    })
  })

  test('writes lines for people, with what to do under what is wrong', async () => {
    const io = memoryIo()
    await runProgram(['doctor', '--no-engine', '--port', '0', '--data-dir', '/dev/null/x'], io)
    expect(io.stdout.text()).toMatch(/^ok {7}settings/)
    expect(io.stdout.text()).toMatch(/problem {2}data .*\n {10,}\S/)
  })
})

test('versions of Node', () => {
  const status = (version: string) => checkNode(version).status
  expect(['v20.19.0', 'v22.1.0', 'v20.18.3', 'v18.20.0'].map(status)).toEqual([
    'ok',
    'ok',
    'problem',
    'problem',
  ])
})

test('a system without glibc has no embedded engine', () => {
  const machine = { nodeVersion: 'v22.0.0', arch: 'x64', glibcVersion: () => undefined }
  expect(checkLibc({ ...machine, platform: 'linux' }).status).toBe('problem')
  expect(checkLibc({ ...machine, platform: 'darwin' }).status).toBe('ok')
})

test('few open files are a warning', () => {
  const limits = (soft: string) =>
    `Limit Soft Hard Units\nMax open files            ${soft}    524288   files\n`
  expect(checkOpenFiles(limits('1024'))[0]?.status).toBe('warning')
  expect(checkOpenFiles(limits('65536'))[0]?.status).toBe('ok')
  expect(checkOpenFiles(limits('unlimited'))[0]?.status).toBe('ok')
  expect(checkOpenFiles('')).toEqual([])
})

test('space against the reserve', () => {
  expect([50, 300, 5_000].map((free) => judgeSpace(free, 100).status)).toEqual(['problem', 'warning', 'ok'])
})

test('a clock that jumped, or that is not that of the service', () => {
  const now = Date.UTC(2026, 10, 15)
  const status = (...given: Parameters<typeof judgeClock>) => judgeClock(...given).status
  expect(status(now, {})).toBe('ok')
  expect(status(now, { serviceMs: now - 999, newestMs: now - 5 })).toBe('ok')
  expect(status(now, { newestMs: now + 3 * 3_600_000 })).toBe('problem')
  expect(status(now, { serviceMs: now + 60_000 })).toBe('warning')
  expect(status(0, {})).toBe('problem')
})
