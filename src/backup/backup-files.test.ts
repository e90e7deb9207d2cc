import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pack } from 'tar-stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { scratchDirectory } from '../../test/support/scratch.ts'
import { filesBelow, packBackup } from './backup-archive.ts'
import { checkSpace } from './free-space.ts'
import { checksumLine, describeBackup, type Manifest } from './manifest.ts'
import { receiveBackup } from './receive-backup.ts'
import { restoreBackup } from './restore-backup.ts'

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

/** The bytes of a backup of the files above. */
function archiveOf(change: Partial<Manifest> = {}): Promise<Buffer> {
  const tar = pack()
  void packBackup(tar, {
    files: filesBelow(at('source'), 'data'),
    checksumsFile: at('checksums'),
    manifest: (totals) => {
      const text = describeBackup({
        wellhead: '0.1.0',
        engine: { version: '26.7.1', library: '3.4.0' },
        schema: 3,
        takenAt: 0,
        tables: [{ name: 'edge_logs', rows: 1, parts: ['20260101_1_1_0'] }],
        ...totals,
      })
      return JSON.stringify({ ...JSON.parse(text), ...change })
    },
  })
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
  archive = await archiveOf()
  fs.rmSync(at('checksums'))
})
afterEach(() => scratch.remove())

describe('a backup that is received and restored', () => {
  test('has every byte of every file, for its owner alone', async () => {
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

  test('may take the place of an empty directory, and of nothing else', async () => {
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

  test('is complete although the engine that checks it drops a part', async () => {
    await receive(archive)
    const check = async (dataDir: string) =>
      fs.rmSync(join(dataDir, 'engine/store/store/abc', longName), { recursive: true })
    await restore({ check })
    expect(fs.readdirSync(at('restored/engine/store/store/abc'))).toEqual(['empty.txt', 'mutation_7.txt'])
  })

  test('shows unfinished mutations to the service that serves it, not to the engine that counts its rows', async () => {
    await receive(archive)
    let seen: string[] = []
    const check = async (dataDir: string) => {
      seen = fs.readdirSync(join(dataDir, 'engine/store/store/abc'))
    }
    await restore({ check })
    expect(seen).toEqual(['empty.txt', longName])
    const mutation = 'engine/store/store/abc/mutation_7.txt'
    expect(fs.readFileSync(at('restored', mutation)).equals(contents[mutation] as Buffer)).toBe(true)
  })

  test('counts the bytes as they come', async () => {
    let received = 0
    const { bytes } = await receiveBackup(Readable.from([archive]), at('backup'), (more) => {
      received += more
    })
    let restored = 0
    await restore({
      onBytes: (more) => {
        restored += more
      },
    })
    expect(restored).toBe(bytes)
    expect(received).toBeGreaterThan(bytes)
  })
})

describe('an archive that is not whole', () => {
  test('leaves nothing, wherever it was cut', async () => {
    const ends = [0, 1, 512, 600, 2048, 2 ** 20, archive.length - 3000, archive.length - 1025 - 512]
    for (const end of ends) await expect(receive(archive.subarray(0, end)), String(end)).rejects.toThrow()
    expect(listing()).toEqual(['source'])
  })

  test('leaves nothing when its sender fails', async () => {
    const broken = async function* () {
      yield archive.subarray(0, 2 ** 20)
      throw new Error('connection lost')
    }
    await expect(receiveBackup(broken(), at('backup'))).rejects.toThrow('connection lost')
    expect(listing()).toEqual(['source'])
  })

  test('leaves nothing when a byte of it changed', async () => {
    const damaged = Buffer.from(archive)
    damaged[2 ** 20 + 4000] = (damaged[2 ** 20 + 4000] as number) ^ 1
    await expect(receive(damaged)).rejects.toThrow(/damaged on its way/)
    expect(listing()).toEqual(['source'])
  })

  test.each(['../escaped', '/escaped', 'data/../../escaped', 'data', 'data//x', 'data/a\nb', 'other/x'])(
    'may not name the file %j',
    async (name) => {
      const tar = pack()
      tar.entry({ name }, 'x')
      tar.finalize()
      await expect(receive(await buffer(tar as unknown as Readable))).rejects.toThrow(/no backup of Wellhead/)
      expect(listing()).toEqual(['source'])
    },
  )

  test('may not hold links', async () => {
    for (const type of ['symlink', 'link', 'directory', 'fifo'] as const) {
      const tar = pack()
      tar.entry({ name: 'data/x', type, linkname: '/etc/passwd' })
      tar.finalize()
      await expect(receive(await buffer(tar as unknown as Readable))).rejects.toThrow(/no backup of Wellhead/)
    }
  })

  test('stops being packed when its reader leaves', async () => {
    const tar = pack()
    const packing = packBackup(tar, {
      files: filesBelow(at('source'), 'data'),
      checksumsFile: at('checksums'),
      manifest: () => '',
    })
    for await (const _ of tar) break
    await expect(packing).rejects.toThrow()
  })

  test('stops being packed when it is given up', async () => {
    const tar = pack()
    tar.on('error', () => {})
    const packing = packBackup(tar, {
      files: filesBelow(at('source'), 'data'),
      checksumsFile: at('checksums'),
      manifest: () => '',
    })
    tar.destroy(new Error('nobody reads'))
    await expect(packing).rejects.toThrow()
  })

  test('is not asked for more once it is refused', async () => {
    const tar = pack()
    tar.entry({ name: 'other' }, 'x')
    tar.finalize()
    const start = await buffer(tar as unknown as Readable)
    let left = false
    const endless = async function* () {
      try {
        yield start
        for (;;) yield Buffer.alloc(2 ** 16)
      } finally {
        left = true
      }
    }
    await expect(receiveBackup(endless(), at('backup'))).rejects.toThrow(/no backup of Wellhead/)
    await expect.poll(() => left).toBe(true)
  })
})

describe('a backup that was damaged', () => {
  const large = `data/engine/store/store/abc/${longName}/${longName}.bin`
  const damages: Record<string, [damage: () => void, message: RegExp]> = {
    'a changed byte': [
      () => {
        const content = fs.readFileSync(at('backup', large))
        content[77] = (content[77] as number) ^ 1
        fs.writeFileSync(at('backup', large), content)
      },
      /\.bin is not as it was written/,
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
    'no manifest': [() => fs.rmSync(at('backup/manifest.json')), /no manifest\.json/],
    'half a manifest': [() => fs.truncateSync(at('backup/manifest.json'), 40), /is not JSON/],
    'no checksums': [() => fs.rmSync(at('backup/SHA256SUMS')), /SHA256SUMS is missing/],
    'one checksum less': [
      () => {
        const lines = fs.readFileSync(at('backup/SHA256SUMS'), 'utf8').split('\n')
        fs.writeFileSync(at('backup/SHA256SUMS'), lines.slice(1).join('\n'))
      },
      /SHA256SUMS is not the one/,
    ],
    'a path that leads out': [
      () => fs.writeFileSync(at('backup/SHA256SUMS'), checksumLine('0'.repeat(64), 'data/../../x')),
      /SHA256SUMS has an unreadable line/,
    ],
  }

  test.each(Object.entries(damages))(
    'by %s is refused, and nothing is written',
    async (_, [damage, message]) => {
      await receive(archive)
      damage()
      const refusal = await restore().catch((error: Error) => error)
      expect(refusal).toMatchObject({ message: expect.stringMatching(message) })
      expect(refusal).toMatchObject({ message: expect.stringMatching(/take a new one\.$/) })
      expect(listing()).toEqual(['backup', 'source'])
    },
  )

  test('is refused when the engine does not find its rows', async () => {
    await receive(archive)
    const check = async (dataDir: string) => {
      expect(fs.readFileSync(join(dataDir, 'admin-token'), 'utf8')).toBe('wh_secret\n')
      throw new Error('rows are missing')
    }
    await expect(restore({ check })).rejects.toThrow('rows are missing')
    expect(listing()).toEqual(['backup', 'source'])
  })

  test('is not there', async () => {
    await expect(restore({ from: at('nowhere') })).rejects.toThrow(/not a complete backup.* take a new one/)
  })
})

describe('the space for a backup', () => {
  test('is compared with the whole blocks that its files take', async () => {
    const { bavail, bsize } = fs.statfsSync(scratch.path)
    await checkSpace(scratch.path, { bytes: 1, files: 1 })
    const tooMany = { bytes: 0, files: Math.ceil((2 * bavail * bsize) / 4096) }
    await expect(checkSpace(scratch.path, tooMany)).rejects.toThrow(
      /Free \d+ MiB there, or choose a directory/,
    )
    const tooLarge = { bytes: 2 * bavail * bsize, files: 1 }
    await expect(checkSpace(scratch.path, tooLarge)).rejects.toThrow(/needs \d+ MiB, and .* has \d+ MiB free/)
  })
})

describe('a backup of another version', () => {
  test.each([
    [{ format: 2 }, /format 2, and this Wellhead reads up to 1/],
    [{ schema: 4 }, /schema 4; this one knows up to 3/],
    [{ engine: { version: '27.1', library: '3.10.0' } }, /chdb 3\.4\.0, which is older/],
  ])('is refused if it is newer: %j', async (change, message) => {
    const newer = await archiveOf(change)
    if ('format' in change) return expect(receive(newer)).rejects.toThrow(message)
    await receive(newer)
    await expect(restore()).rejects.toThrow(message)
    expect(listing()).toEqual(['backup', 'checksums', 'source'])
  })

  test('is taken if it is older', async () => {
    await receive(await archiveOf({ schema: 1, engine: { version: '25.1', library: '2.9.9' } }))
    await restore()
  })
})
