import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { manualTime } from '../../../test/support/manual-clock.ts'
import { type WarmKey, WarmKeysFile, type WarmKeysFileOptions } from './warm-keys-file.ts'

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'wellhead-warm-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

function openFile(options: Partial<WarmKeysFileOptions> = {}) {
  const keys: WarmKey[] = []
  const failures: unknown[] = []
  const time = manualTime()
  const path = join(scratch(), 'warm-keys.json')
  const file = new WarmKeysFile({
    path,
    time,
    everyMs: 5000,
    maxKeys: 100,
    maxBytes: 10_000,
    read: (limit) => keys.slice(0, limit),
    onFailure: (error) => failures.push(error),
    ...options,
  })
  const write = async (...names: string[]) => {
    keys.push(...names.map(warmKey))
    file.start()
    await file.stop()
  }
  return { file, keys, failures, time, write, path: options.path ?? path }
}

const warmKey = (name: string): WarmKey => ({ recipe: { name }, lastUsedMs: 1, uses: 2.5 })

describe('the file of warm keys', () => {
  test('returns the keys that were written, and only its owner can read it', async () => {
    const { file, keys, path, failures, write } = openFile()
    writeFileSync(path, 'open to all')
    chmodSync(path, 0o644)
    await write('a', '"b"\n')
    expect(await file.load()).toEqual(keys)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(join(path, '..'))).toEqual(['warm-keys.json'])
    expect(failures).toEqual([])
  })

  test('is empty if it is missing, and reported if it cannot be read', async () => {
    const { file, path, failures } = openFile()
    expect(await file.load()).toEqual([])
    expect(failures).toEqual([])
    const broken = ['', '{"version":1,"keys":[', '{"version":1,"keys":[]}', '[]', 'x'.repeat(20_000)]
    for (const [index, text] of broken.entries()) {
      writeFileSync(path, text)
      expect(await file.load()).toEqual([])
      expect(failures).toHaveLength(index + 1)
    }
  })

  test('is written at intervals if the keys have changed, and at the end', async () => {
    const { file, keys, path, time } = openFile()
    file.start()
    keys.push(warmKey('a'))
    time.advance(4999)
    await file.load().then((loaded) => expect(loaded).toEqual([]))
    time.advance(1)
    await file.save()
    expect(await file.load()).toHaveLength(1)
    const { ino } = statSync(path)
    time.advance(5000)
    await file.save()
    expect(statSync(path).ino).toBe(ino)
    keys.push(warmKey('b'))
    await file.stop()
    expect(await file.load()).toHaveLength(2)
    keys.push(warmKey('c'))
    time.advance(60_000)
    expect(await file.load()).toHaveLength(2)
  })

  test('keeps as many of the most used keys as it may', async () => {
    const names = Array.from({ length: 50 }, (_, i) => `key ${i}`)
    const few = openFile({ maxKeys: 3 })
    await few.write(...names)
    expect(await few.file.load()).toEqual(names.slice(0, 3).map(warmKey))
    const small = openFile({ maxBytes: 1000 })
    await small.write(...names)
    expect(readFileSync(small.path).length).toBeLessThanOrEqual(1000)
    expect((await small.file.load()).length).toBeGreaterThan(10)
  })

  test('is reported if it cannot be written', async () => {
    const { failures, write } = openFile({ path: join(scratch(), 'missing', 'warm-keys.json') })
    await write('a')
    expect(failures).toHaveLength(1)
  })

  test('is not changed by a service that stops before it has started to write', async () => {
    const first = openFile()
    await first.write('a')
    const second = openFile({ path: first.path })
    await second.file.stop()
    second.file.start()
    second.time.advance(5000)
    expect(await second.file.load()).toEqual(first.keys)
  })
})
