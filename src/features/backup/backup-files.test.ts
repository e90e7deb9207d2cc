import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type Header, type Pack, pack } from 'tar-stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { scratchDirectory } from '../../../test/support/scratch.ts'
import { type ArchiveContent, filesBelow, packBackup } from './backups.ts'
import { checksumLine, formatManifest, type Manifest } from './manifest.ts'
import { receiveBackup, restoreBackup } from './restore-backup.ts'
import { checkSpace } from './staged-directory.ts'

const longName = 'n'.repeat(200)
const contents: Record<string, Buffer> = {
  'admin-token': Buffer.from('wh_secret\n'),
  'engine/store/metadata/wellhead.sql': Buffer.from('ATTACH DATABASE _'),
  'engine/store/store/abc/empty.txt': Buffer.alloc(0),
  'engine/store/store/abc/mutation_7.txt': Buffer.from('format version: 1'),
  [`engine/store/store/abc/${longName}/${longName}.bin`]: randomBytes(3 * 2 ** 20 + 17),
}

const here = { schema: 3, library: '3.4.0' }
let scratch: ReturnType<typeof scratchDirectory>
let archive: Buffer

const at = (...path: string[]) => join(scratch.path, ...path)
const listing = () => fs.readdirSync(scratch.path).toSorted()

const packInto = (tar: Pack, manifest: ArchiveContent['manifest'] = () => '') =>
  packBackup(tar, {
    files: filesBelow(at('source'), 'data'),
    checksumsFile: at('checksums'),
    manifest,
  })

/** A backup of the files above. */
function createArchive(change: Partial<Manifest> = {}): Promise<Buffer> {
  const tar = pack()
  void packInto(tar, (totals) =>
    formatManifest({
      wellhead: '0.1.0',
      engine: { version: '26.7.1', library: '3.4.0' },
      schema: 3,
      taken_at: new Date(0).toISOString(),
      tables: [{ name: 'edge_logs', rows: 1, parts: ['20260101_1_1_0'] }],
      ...totals,
      ...change,
    }),
  )
  return buffer(tar as unknown as Readable)
}

/** An archive with a single entry. */
function archiveWith(header: Partial<Header> & { name: string }, content = ''): Promise<Buffer> {
  const tar = pack()
  tar.entry(header, content)
  tar.finalize()
  return buffer(tar as unknown as Readable)
}

const receive = (bytes: Buffer, to = at('backup')) => receiveBackup(Readable.from([bytes]), to)
const restore = (more: Partial<Parameters<typeof restoreBackup>[0]> = {}) =>
  restoreBackup({ from: at('backup'), to: at('restored'), here, ...more })

beforeEach(async () => {
  scratch = scratchDirectory()
  for (const [path, content] of Object.entries(contents)) {
    fs.mkdirSync(join(at('source', path), '..'), { recursive: true })
    fs.writeFileSync(at('source', path), content)
  }
  archive = await createArchive()
  fs.rmSync(at('checksums'))
})
afterEach(() => scratch.remove())

describe('a restored backup', () => {
  test('has every byte of every file, readable by the owner only', async () => {
    const manifest = await receive(archive)
    expect(manifest).toMatchObject({ format: 1, files: 5, taken_at: '1970-01-01T00:00:00.000Z' })
    expect(await restore()).toEqual(manifest)
    for (const [path, content] of Object.entries(contents)) {
      expect(fs.readFileSync(at('restored', path)).equals(content), path).toBe(true)
      expect(fs.statSync(at('restored', path)).mode & 0o777).toBe(0o600)
    }
    for (const directory of ['backup', 'restored', 'restored/engine/store']) {
      expect(fs.statSync(at(directory)).mode & 0o777).toBe(0o700)
    }
    expect(listing()).toEqual(['backup', 'restored', 'source'])
  })

  test('replaces an empty directory, and nothing else', async () => {
    for (const name of ['empty', 'used', 'parent']) fs.mkdirSync(at(name))
    fs.writeFileSync(at('used', 'x'), '')
    await receive(archive, at('empty'))
    await expect(receive(archive, at('empty'))).rejects.toThrow(/is not empty/)
    await expect(receive(archive, at('used', 'x'))).rejects.toThrow(/is a file/)
    await receive(archive)
    await expect(restore({ to: at('used') })).rejects.toThrow(/is not empty/)
    expect(fs.readdirSync(at('used'))).toEqual(['x'])
    await restore({ to: at('parent', 'new', 'data') })
    expect(listing()).toEqual(['backup', 'empty', 'parent', 'source', 'used'])
  })

  test('hides mutations from the engine that checks it, which may drop a part', async () => {
    await receive(archive)
    const table = 'engine/store/store/abc'
    let checked: string[] = []
    const check = async (dataDir: string) => {
      checked = fs.readdirSync(join(dataDir, table))
      fs.rmSync(join(dataDir, table, longName), { recursive: true })
    }
    await restore({ check })
    expect(checked).toEqual(['empty.txt', longName])
    expect(fs.readdirSync(at('restored', table))).toEqual(['empty.txt', 'mutation_7.txt'])
    const mutation = `${table}/mutation_7.txt`
    expect(fs.readFileSync(at('restored', mutation)).equals(contents[mutation] as Buffer)).toBe(true)
  })

  test('reports its progress in bytes', async () => {
    const progress = { received: 0, restored: 0 }
    const count = (key: keyof typeof progress) => (bytes: number) => {
      progress[key] += bytes
    }
    const { bytes } = await receiveBackup(Readable.from([archive]), at('backup'), count('received'))
    await restore({ onBytes: count('restored') })
    expect(progress.restored).toBe(bytes)
    expect(progress.received).toBeGreaterThan(bytes)
  })
})

describe('an invalid archive', () => {
  test('leaves nothing if it is cut short anywhere', async () => {
    const ends = [0, 1, 512, 600, 2048, 2 ** 20, archive.length - 3000, archive.length - 1025 - 512]
    for (const end of ends) await expect(receive(archive.subarray(0, end)), String(end)).rejects.toThrow()
    expect(listing()).toEqual(['source'])
  })

  test('leaves nothing if the connection is lost', async () => {
    const broken = async function* () {
      yield archive.subarray(0, 2 ** 20)
      throw new Error('connection lost')
    }
    await expect(receiveBackup(broken(), at('backup'))).rejects.toThrow('connection lost')
    expect(listing()).toEqual(['source'])
  })

  test('leaves nothing if a byte changed', async () => {
    const damaged = Buffer.from(archive)
    damaged[2 ** 20 + 4000] = (damaged[2 ** 20 + 4000] as number) ^ 1
    await expect(receive(damaged)).rejects.toThrow(/damaged in transit/)
    expect(listing()).toEqual(['source'])
  })

  test.each(['../escaped', '/escaped', 'data/../../escaped', 'data', 'data//x', 'data/a\nb', 'other/x'])(
    'is refused for the path %j',
    async (name) => {
      await expect(receive(await archiveWith({ name }, 'x'))).rejects.toThrow(/not a backup of Wellhead/)
      expect(listing()).toEqual(['source'])
    },
  )

  test.each(['symlink', 'link', 'directory', 'fifo'] as const)('is refused for a %s', async (type) => {
    const linked = await archiveWith({ name: 'data/x', type, linkname: '/etc/passwd' })
    await expect(receive(linked)).rejects.toThrow(/not a backup of Wellhead/)
  })

  test('is not read any further', async () => {
    const start = await archiveWith({ name: 'other' }, 'x')
    let left = false
    const endless = async function* () {
      try {
        yield start
        for (;;) yield Buffer.alloc(2 ** 16)
      } finally {
        left = true
      }
    }
    await expect(receiveBackup(endless(), at('backup'))).rejects.toThrow(/not a backup of Wellhead/)
    await expect.poll(() => left).toBe(true)
  })
})

test('packing stops when the reader leaves or the archive is destroyed', async () => {
  const left = pack()
  const packing = packInto(left)
  for await (const _ of left) break
  await expect(packing).rejects.toThrow()
  const destroyed = pack()
  destroyed.on('error', () => {})
  const abandoned = packInto(destroyed)
  destroyed.destroy(new Error('stalled'))
  await expect(abandoned).rejects.toThrow()
})

describe('a damaged backup', () => {
  const large = `data/engine/store/store/abc/${longName}/${longName}.bin`
  const damages: Record<string, [damage: () => void, message: RegExp]> = {
    'a changed byte': [
      () => {
        const content = fs.readFileSync(at('backup', large))
        content[77] = (content[77] as number) ^ 1
        fs.writeFileSync(at('backup', large), content)
      },
      /\.bin was changed/,
    ],
    'a shorter file': [() => fs.truncateSync(at('backup', large), 5), /its files have \d+ bytes/],
    'a missing file': [() => fs.rmSync(at('backup/data/admin-token')), /data\/admin-token is missing/],
    'a link': [
      () => {
        fs.rmSync(at('backup/data/admin-token'))
        fs.symlinkSync(at('source/admin-token'), at('backup/data/admin-token'))
      },
      /data\/admin-token is not a file/,
    ],
    'no manifest': [() => fs.rmSync(at('backup/manifest.json')), /manifest\.json is missing/],
    'half a manifest': [() => fs.truncateSync(at('backup/manifest.json'), 40), /is not JSON/],
    'no checksums': [() => fs.rmSync(at('backup/SHA256SUMS')), /SHA256SUMS is missing/],
    'one checksum less': [
      () => {
        const lines = fs.readFileSync(at('backup/SHA256SUMS'), 'utf8').split('\n')
        fs.writeFileSync(at('backup/SHA256SUMS'), lines.slice(1).join('\n'))
      },
      /SHA256SUMS was changed/,
    ],
    'a path that leads out': [
      () => fs.writeFileSync(at('backup/SHA256SUMS'), checksumLine('0'.repeat(64), 'data/../../x')),
      /SHA256SUMS has an unreadable line/,
    ],
  }

  test.each(Object.entries(damages))(
    'with %s is refused, and nothing is written',
    async (_, [damage, message]) => {
      await receive(archive)
      damage()
      const refusal = await restore().catch((error: Error) => error)
      expect(refusal).toMatchObject({ message: expect.stringMatching(message) })
      expect(refusal).toMatchObject({ message: expect.stringMatching(/take a new one\.$/) })
      expect(listing()).toEqual(['backup', 'source'])
    },
  )

  test('is refused if the engine does not find its rows', async () => {
    await receive(archive)
    const check = async (dataDir: string) => {
      expect(fs.readFileSync(join(dataDir, 'admin-token'), 'utf8')).toBe('wh_secret\n')
      throw new Error('rows are missing')
    }
    await expect(restore({ check })).rejects.toThrow('rows are missing')
    expect(listing()).toEqual(['backup', 'source'])
  })

  test('is refused if it does not exist', async () => {
    await expect(restore({ from: at('nowhere') })).rejects.toThrow(/nowhere does not exist/)
  })
})

test('a backup needs space for the blocks of its files', async () => {
  const { bavail, bsize } = fs.statfsSync(scratch.path)
  const space = bavail * bsize
  await checkSpace(scratch.path, { bytes: 1, files: 1 })
  const tooMany = checkSpace(scratch.path, { bytes: 0, files: Math.ceil((2 * space) / 4096) })
  await expect(tooMany).rejects.toThrow(/Free \d+ MiB there, or choose a directory/)
  const tooLarge = checkSpace(scratch.path, { bytes: 2 * space, files: 1 })
  await expect(tooLarge).rejects.toThrow(/needs \d+ MiB, but .* has \d+ MiB free/)
})

describe('a backup of another version', () => {
  test.each([
    [{ format: 2 }, /format 2; this version of Wellhead reads formats up to 1/],
    [{ schema: 4 }, /schema 4; this version supports schemas up to 3/],
    [{ engine: { version: '27.1', library: '3.10.0' } }, /has chdb 3\.4\.0, which is older/],
  ])('is refused if it is newer: %j', async (change, message) => {
    const newer = await createArchive(change)
    if ('format' in change) return expect(receive(newer)).rejects.toThrow(message)
    await receive(newer)
    await expect(restore()).rejects.toThrow(message)
    expect(listing()).toEqual(['backup', 'checksums', 'source'])
  })

  test('is accepted if it is older', async () => {
    await receive(await createArchive({ schema: 1, engine: { version: '25.1', library: '2.9.9' } }))
    await restore()
  })
})
