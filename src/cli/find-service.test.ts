import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { memoryIo } from '../../test/support/memory-io.ts'
import { findService } from './find-service.ts'
import { readServiceFile, removeServiceFile, serviceFilePath, writeServiceFile } from './service-file.ts'

let cwd: string
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'wellhead-'))
})
afterEach(() => rmSync(cwd, { recursive: true, force: true }))

const running = {
  url: 'http://127.0.0.1:4567',
  pid: 77,
  version: '1',
  started_at: '2026-01-01T00:00:00.000Z',
}

function localService(directory = cwd): void {
  writeServiceFile(directory, running)
  writeFileSync(join(directory, 'admin-token'), 'the-admin-token-of-it\n')
}

describe('which service a command talks to', () => {
  test('flags win over the environment', () => {
    const environment = { WELLHEAD_URL: 'http://other:1', WELLHEAD_TOKEN: 'other' }
    const io = memoryIo({ cwd, environment })
    expect(findService({}, io)).toEqual({ url: 'http://other:1', token: 'other' })
    expect(findService({ url: 'https://w.example.com/base/', token: 'mine' }, io)).toEqual({
      url: 'https://w.example.com/base',
      token: 'mine',
    })
  })

  test('a local one is found by its data directory: a flag, a variable, or ./data', () => {
    localService()
    const expected = { url: running.url, token: 'the-admin-token-of-it' }
    expect(findService({ dataDir: cwd }, memoryIo({ cwd: '/' }))).toEqual(expected)
    expect(findService({}, memoryIo({ cwd: '/', environment: { WELLHEAD_DATA_DIR: cwd } }))).toEqual(expected)
    expect(() => findService({}, memoryIo({ cwd }))).toThrow(/There is no token for http:\/\/127.0.0.1:4000/)
  })

  test('the file of a service that has ended is ignored, and that is told', () => {
    localService()
    const io = memoryIo({ cwd, isAlive: (pid) => pid !== running.pid })
    expect(() => findService({ dataDir: cwd }, io)).toThrow(/There is no token for http:\/\/127.0.0.1:4000/)
    expect(io.stderr.text()).toContain('is of a service that has ended (process 77)')
  })

  test('the admin token of a local service goes to no other', () => {
    localService()
    expect(() => findService({ url: 'http://elsewhere:4000', dataDir: cwd }, memoryIo())).toThrow(
      'There is no token for http://elsewhere:4000: give one with --token or WELLHEAD_TOKEN.',
    )
    expect(() => findService({ url: 'http://127.0.0.1:4000', dataDir: cwd }, memoryIo())).toThrow(
      'There is no token for http://127.0.0.1:4000',
    )
    expect(findService({ url: `${running.url}/`, dataDir: cwd }, memoryIo()).token).toBe(
      'the-admin-token-of-it',
    )
    const environment = { WELLHEAD_ADMIN_TOKEN: 'secret-of-the-service' }
    expect(() => findService({ url: 'http://elsewhere' }, memoryIo({ environment }))).toThrow(
      'There is no token',
    )
  })

  test.each(['4000', 'ftp://x', 'http://user:pass@x', 'http://x/?a=b', ''])('%j is no address', (url) => {
    expect(() => findService({ url, token: 't' }, memoryIo())).toThrow('is no address of a service')
  })

  test('a token that cannot be one is told without showing it', () => {
    expect(() => findService({ token: 'two words' }, memoryIo())).toThrow(/characters that no token has\.$/)
  })
})

describe('the file of a running service', () => {
  test('is for its owner alone, and removed by its owner alone', () => {
    writeServiceFile(cwd, running)
    expect(statSync(serviceFilePath(cwd)).mode & 0o777).toBe(0o600)
    removeServiceFile(cwd, running.pid + 1)
    expect(readServiceFile(cwd)).toEqual(running)
    removeServiceFile(cwd, running.pid)
    expect(readServiceFile(cwd)).toBeUndefined()
  })

  test('that is broken is as good as none', () => {
    writeFileSync(serviceFilePath(cwd), '{"url":')
    expect(readServiceFile(cwd)).toBeUndefined()
    writeFileSync(serviceFilePath(cwd), '{"url":"x"}')
    expect(readServiceFile(cwd)).toBeUndefined()
    chmodSync(cwd, 0o700)
  })
})
