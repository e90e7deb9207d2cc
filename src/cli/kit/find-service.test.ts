import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { memoryIo } from '../../../test/support/memory-io.ts'
import { scratchDirectory } from '../../../test/support/scratch.ts'
import {
  findService,
  readServiceFile,
  removeServiceFile,
  serviceFilePath,
  writeServiceFile,
} from './find-service.ts'

let directory: ReturnType<typeof scratchDirectory>
let cwd: string
beforeEach(() => {
  directory = scratchDirectory()
  cwd = directory.path
})
afterEach(() => directory.remove())

const url = 'http://127.0.0.1:4567'
const running = { url, pid: 77, version: '1', started_at: '2026-01-01T00:00:00.000Z' }
const adminToken = 'the-local-admin-token'

function startLocal(): void {
  writeServiceFile(cwd, running)
  writeFileSync(join(cwd, 'admin-token'), `${adminToken}\n`)
}

describe('findService', () => {
  test('prefers flags to the environment', () => {
    const environment = { WELLHEAD_URL: 'http://other:1', WELLHEAD_TOKEN: 'other' }
    const io = memoryIo({ cwd, environment })
    expect(findService({}, io)).toEqual({ url: 'http://other:1', token: 'other', isLocal: false })
    expect(findService({ url: 'https://w.example.com/base/', token: 'mine' }, io)).toEqual({
      url: 'https://w.example.com/base',
      token: 'mine',
      isLocal: false,
    })
  })

  test('finds a local service by its data directory: a flag, a variable, or ./data', () => {
    startLocal()
    const expected = { url, token: adminToken, isLocal: true }
    expect(findService({ dataDir: cwd }, memoryIo({ cwd: '/' }))).toEqual(expected)
    expect(findService({}, memoryIo({ cwd: '/', environment: { WELLHEAD_DATA_DIR: cwd } }))).toEqual(expected)
    expect(() => findService({}, memoryIo({ cwd }))).toThrow('No token for http://127.0.0.1:4000.')
  })

  test('finds the demo in ./demo-data while no service runs on ./data', () => {
    for (const [name, port] of [
      ['demo-data', 4568],
      ['data', 4569],
    ] as const) {
      mkdirSync(join(cwd, name))
      writeServiceFile(join(cwd, name), { ...running, url: `http://127.0.0.1:${port}`, pid: port })
      writeFileSync(join(cwd, name, 'admin-token'), `token-of-${name}\n`)
    }
    const demo = { url: 'http://127.0.0.1:4568', token: 'token-of-demo-data', isLocal: true }
    const own = { url: 'http://127.0.0.1:4569', token: 'token-of-data', isLocal: true }
    expect(findService({}, memoryIo({ cwd }))).toEqual(own)
    expect(findService({}, memoryIo({ cwd, isAlive: (pid) => pid === 4568 }))).toEqual(demo)
    expect(() => findService({ dataDir: 'data' }, memoryIo({ cwd, isAlive: (pid) => pid === 4568 }))).toThrow(
      'No token for',
    )
  })

  test('ignores and reports the file of a stopped service', () => {
    startLocal()
    const io = memoryIo({ cwd, isAlive: (pid) => pid !== running.pid })
    expect(() => findService({ dataDir: cwd }, io)).toThrow('No token for http://127.0.0.1:4000.')
    expect(io.stderr.text()).toContain('belongs to a service that has stopped (process 77)')
  })

  test('uses the local admin token for the local service', () => {
    startLocal()
    expect(findService({ url: `${url}/`, dataDir: cwd }, memoryIo()).token).toBe(adminToken)
  })

  test.each(['http://elsewhere:4000', 'http://127.0.0.1:4000'])(
    'does not use the local admin token for %s',
    (other) => {
      startLocal()
      const io = memoryIo({ environment: { WELLHEAD_ADMIN_TOKEN: 'secret-of-the-service' } })
      for (const each of [memoryIo(), io]) {
        expect(() => findService({ url: other, dataDir: cwd }, each)).toThrow(
          `No token for ${other}. Set --token or WELLHEAD_TOKEN.`,
        )
      }
    },
  )

  test.each(['4000', 'ftp://x', 'http://user:pass@x', 'http://x/?a=b', ''])('rejects the URL %j', (text) => {
    expect(() => findService({ url: text, token: 't' }, memoryIo())).toThrow('is not a service URL')
  })

  test('rejects an invalid token without showing it', () => {
    expect(() => findService({ token: 'two words' }, memoryIo())).toThrow(
      /^The token contains invalid characters\.$/,
    )
  })
})

describe('the file of a running service', () => {
  test('is private, and only its own process removes it', () => {
    writeServiceFile(cwd, running)
    expect(statSync(serviceFilePath(cwd)).mode & 0o777).toBe(0o600)
    removeServiceFile(cwd, running.pid + 1)
    expect(readServiceFile(cwd)).toEqual(running)
    removeServiceFile(cwd, running.pid)
    expect(readServiceFile(cwd)).toBeUndefined()
  })

  test.each(['{"url":', '{"url":"x"}'])('is ignored if it contains %j', (content) => {
    writeFileSync(serviceFilePath(cwd), content)
    expect(readServiceFile(cwd)).toBeUndefined()
  })
})
