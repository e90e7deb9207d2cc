import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { manualTime } from '../base/clock.ts'
import { type WarmKey, WarmKeysFile, type WarmKeysFileOptions } from './warm-keys-file.ts'

const directories: string[] = []

afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true })
})

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'wellhead-hot-'))
  directories.push(directory)
  return directory
}

function openFile(options: Partial<WarmKeysFileOptions> = {}) {
  const keys: WarmKey[] = []
  const failures: unknown[] = []
  const time = manualTime()
  const path = join(scratch(), 'hot-keys.json')
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
  return { file, keys, failures, time, path: options.path ?? path }
}

const warmKey = (name: string): WarmKey => ({ recipe: { name }, lastUsedMs: 1, uses: 2.5 })

describe('the file of hot keys', () => {
  test('gives back what was written, and only its owner may read it', async () => {
    const { file, keys, path, failures } = openFile()
    keys.push(warmKey('a'), warmKey('"b"\n'))
    writeFileSync(path, 'open to all')
    chmodSync(path, 0o644)
    file.start()
    await file.stop()
    expect(await file.load()).toEqual(keys)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(join(path, '..'))).toEqual(['hot-keys.json'])
    expect(failures).toEqual([])
  })

  test('is empty where there is none, and told of where it cannot be read', async () => {
    const { file, path, failures } = openFile()
    expect(await file.load()).toEqual([])
    expect(failures).toEqual([])
    const broken = ['', '{"version":1,"keys":[', '{"version":2,"keys":[]}', '[]', 'x'.repeat(20_000)]
    for (const [index, text] of broken.entries()) {
      writeFileSync(path, text)
      expect(await file.load()).toEqual([])
      expect(failures).toHaveLength(index + 1)
    }
  })

  test('is written once in a while, where something changed, and at the end', async () => {
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

  test('keeps as many of the hottest as it may', async () => {
    const few = openFile({ maxKeys: 3 })
    for (let i = 0; i < 10; i++) few.keys.push(warmKey(`key ${i}`))
    few.file.start()
    await few.file.stop()
    expect((await few.file.load()).map(({ recipe }) => recipe)).toEqual(
      [0, 1, 2].map((i) => ({ name: `key ${i}` })),
    )
    const small = openFile({ maxBytes: 1000 })
    for (let i = 0; i < 50; i++) small.keys.push(warmKey(`key ${i}`))
    small.file.start()
    await small.file.stop()
    expect(readFileSync(small.path).length).toBeLessThanOrEqual(1000)
    expect((await small.file.load()).length).toBeGreaterThan(10)
  })

  test('that cannot be written is told of, and stops nothing', async () => {
    const { file, keys, failures } = openFile({ path: join(scratch(), 'missing', 'hot-keys.json') })
    keys.push(warmKey('a'))
    file.start()
    await file.stop()
    expect(failures).toHaveLength(1)
  })

  test('is left as it is by a run that ends before it has begun to write', async () => {
    const first = openFile()
    first.keys.push(warmKey('a'))
    first.file.start()
    await first.file.stop()
    const second = openFile({ path: first.path })
    await second.file.stop()
    second.file.start()
    second.time.advance(5000)
    expect(await second.file.load()).toEqual(first.keys)
  })
})
