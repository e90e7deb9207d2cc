import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { open, opendir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pack } from 'tar-stream'
import { checksumLine, checksumsName, isDataPath, type Manifest, manifestName } from './manifest.ts'

export interface ArchivedFile {
  /** Path in the backup. */
  path: string
  from: string
}

type ArchiveTotals = Pick<Manifest, 'files' | 'bytes' | 'checksums_sha256'>

export interface ArchiveContent {
  files: AsyncIterable<ArchivedFile>
  /** Temporary file: with a million files, the list of checksums does not fit into memory. */
  checksumsFile: string
  manifest: (totals: ArchiveTotals) => string
}

const readBytes = 2 ** 20

/** Writes the files, then their checksums, then the manifest, without which a backup is not complete. */
export async function packBackup(pack: Pack, content: ArchiveContent): Promise<void> {
  const totals = { files: 0, bytes: 0 }
  const hash = createHash('sha256')
  const list = await open(content.checksumsFile, 'w', 0o600)
  try {
    for await (const { path, from } of content.files) {
      if (!isDataPath(path)) throw new Error(`A backup cannot contain the path ${path}.`)
      const { sha256, bytes } = await packFile(pack, path, from)
      const line = checksumLine(sha256, path)
      hash.update(line)
      await list.write(line)
      totals.files++
      totals.bytes += bytes
    }
  } finally {
    await list.close()
  }
  await packFile(pack, checksumsName, content.checksumsFile)
  pack.entry(
    { name: manifestName, mode: 0o600 },
    content.manifest({ ...totals, checksums_sha256: hash.digest('hex') }),
  )
  pack.finalize()
}

async function packFile(pack: Pack, name: string, from: string): Promise<{ sha256: string; bytes: number }> {
  const { size, mtime } = await stat(from)
  const hash = createHash('sha256')
  let settle: (error?: Error | null) => void = () => {}
  const ended = new Promise<void>((resolve, reject) => {
    settle = (error) => (error ? reject(error) : resolve())
  })
  // The reader may leave at any time; then this promise may have no other handler.
  ended.catch(() => {})
  const entry = pack.entry({ name, size, mtime, mode: 0o600 }, settle)
  entry.on('error', () => {})
  for await (const chunk of createReadStream(from, { highWaterMark: readBytes }) as AsyncIterable<Buffer>) {
    hash.update(chunk)
    if (!entry.write(chunk)) await Promise.race([once(entry, 'drain'), ended])
  }
  entry.end(undefined)
  await ended
  return { sha256: hash.digest('hex'), bytes: size }
}

/** All files below a directory, one at a time, because there may be millions. */
export async function* filesBelow(directory: string, path: string): AsyncGenerator<ArchivedFile> {
  for await (const entry of await opendir(directory)) {
    const inside = { path: `${path}/${entry.name}`, from: join(directory, entry.name) }
    if (entry.isDirectory()) yield* filesBelow(inside.from, inside.path)
    else if (entry.isFile()) yield inside
  }
}
