import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { copyFile, mkdir, open, opendir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Pack, pack } from 'tar-stream'
import type { Clock } from '../../core/base/clock.ts'
import { diskFull } from '../../core/base/errors.ts'
import { reservedFiles } from '../../core/base/files/data-files.ts'
import { isDiskFull, unlessMissing } from '../../core/base/files/disk.ts'
import type { Log } from '../../core/base/log.ts'
import type { Catalog } from '../../core/catalog/catalog.ts'
import { type DataVersion, ownVersion, readDataVersion } from '../../core/catalog/data-version.ts'
import { storeDirectoryOf } from '../../core/engine/embedded-engine.ts'
import type { Engine } from '../../core/engine/engine.ts'
import {
  DamagedPart,
  removeSnapshot,
  snapshotTables,
  type TableSnapshot,
} from '../../core/engine/table-snapshot.ts'
import { backupUnavailable } from './errors.ts'
import {
  checksumLine,
  checksumsName,
  dataFolder,
  formatManifest,
  isDataPath,
  type Manifest,
  manifestName,
} from './manifest.ts'
import { receiveBackup } from './restore-backup.ts'

interface BackupsOptions {
  /** Works while no request stores entries, and everything that was counted is stored. */
  atRest: <T>(work: () => Promise<T>) => Promise<T>
  engine: Engine
  catalog: Pick<Catalog, 'hold'>
  clock: Clock
  log: Log
  /** Undefined if the data is on a ClickHouse server. */
  dataDir: string | undefined
  /** A reader that takes nothing for this time loses the backup, because its snapshot takes space. */
  stalledAfterMs: number
}

/** Takes backups of a running service, one at a time. */
export class Backups {
  readonly #options: BackupsOptions
  #running: Promise<void> | undefined

  constructor(options: BackupsOptions) {
    this.#options = options
  }

  async open(): Promise<void> {
    if (this.#options.dataDir !== undefined) {
      await removeSnapshot(snapshotPlace(this.#options.dataDir))
    }
  }

  /**
   * Before a migration: a backup without the tables of sources, which an older version can restore. Returns its directory. One that is
   * there is of a migration that was interrupted.
   */
  async keepDefinitions(schema: number): Promise<string> {
    const { dataDir = '' } = this.#options
    const directory = join(dataDir, `definitions-of-schema-${schema}`)
    if (existsSync(directory)) return directory
    const found = readDataVersion(dataDir) ?? { ...ownVersion(), schema }
    const { stream } = await this.begin(found, (table) => table.startsWith('_'))
    await receiveBackup(stream, directory)
    return directory
  }

  /** Resolves when the snapshot is complete, with a tar archive and the total size of its files. */
  async begin(
    version = ownVersion(),
    isWanted?: (table: string) => boolean,
  ): Promise<{ stream: Readable; bytes: number }> {
    const { dataDir, engine, catalog, clock } = this.#options
    if (dataDir === undefined) {
      throw backupUnavailable(
        'The data is on a ClickHouse server. Back it up with its own BACKUP statement (docs/operations/operating.md).',
      )
    }
    if (this.#running) {
      throw backupUnavailable('Another backup is running. Try again when it is complete.', 10)
    }
    let ended: () => void = () => {}
    this.#running = new Promise((resolve) => {
      ended = () => {
        this.#running = undefined
        resolve()
      }
    })
    try {
      const takenAt = clock.now()
      const snapshotOf = (isIncluded: (table: string) => boolean) =>
        catalog.hold(() => snapshotTables(engine, snapshotPlace(dataDir), isIncluded))
      const snapshot = isWanted
        ? await snapshotOf(isWanted)
        : await this.#options.atRest(() => snapshotOf(() => true))
      let bytes = 0
      try {
        await copyOwnFiles(dataDir, ownDirectory(snapshot))
        for await (const { from } of filesOf(snapshot)) bytes += (await stat(from)).size
      } catch (error) {
        await snapshot.release()
        throw error
      }
      return { stream: this.#stream(snapshot, version, takenAt, ended), bytes }
    } catch (error) {
      ended()
      throw backupError(error)
    }
  }

  #stream(snapshot: TableSnapshot, version: DataVersion, takenAt: number, ended: () => void): Readable {
    const { log, stalledAfterMs } = this.#options
    const archive = pack()
    // The reader and the code below get the error.
    archive.on('error', () => {})
    const packing = packBackup(archive, {
      files: filesOf(snapshot),
      checksumsFile: join(snapshot.directory, 'checksums'),
      manifest: (totals) =>
        formatManifest({
          wellhead: version.wellhead,
          engine: { version: snapshot.engineVersion, library: version.library },
          schema: version.schema,
          taken_at: new Date(takenAt).toISOString(),
          tables: snapshot.tables,
          ...totals,
        }),
    })
    void packing
      .then(
        () => log.info({ tables: snapshot.tables.length }, 'backup written'),
        (error) => {
          log.warn({ err: error }, 'backup failed')
          archive.destroy(backupError(error))
        },
      )
      .then(() => snapshot.release())
      .catch((error) => log.error({ err: error }, 'the snapshot of a backup could not be removed'))
      .finally(ended)
    const stream = Readable.from(unlessStalled(archive, stalledAfterMs), { objectMode: false })
    // A reader that left before the first byte never started the generator.
    stream.once('close', () => archive.destroy())
    return stream
  }

  /** Resolves when no snapshot is left. */
  async stop(): Promise<void> {
    await this.#running
  }
}

async function* unlessStalled(archive: Pack, afterMs: number): AsyncGenerator<Buffer> {
  const timer = setTimeout(() => archive.destroy(new Error('The reader of the backup stalled.')), afterMs)
  timer.unref()
  try {
    for await (const chunk of archive as AsyncIterable<Buffer>) {
      yield chunk
      timer.refresh()
    }
  } finally {
    clearTimeout(timer)
    archive.destroy()
  }
}

const snapshotPlace = (dataDir: string) => ({
  storeDirectory: storeDirectoryOf(dataDir),
  name: 'wellhead_backup',
})

function backupError(error: unknown): Error {
  if (error instanceof DamagedPart) {
    return backupUnavailable(`${error.message} Restart the service to repair it, then take the backup again.`)
  }
  if (!diskFull.is(error) && !isDiskFull(error)) return error as Error
  return backupUnavailable('The disk of the service is full. Free some space on it and try again.')
}

function ownDirectory(snapshot: TableSnapshot): string {
  return join(snapshot.directory, 'own')
}

async function copyOwnFiles(dataDir: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  for (const name of reservedFiles) {
    await copyFile(join(dataDir, name), join(to, name)).catch(unlessMissing)
  }
}

async function* filesOf(snapshot: TableSnapshot): AsyncGenerator<ArchivedFile> {
  yield* filesBelow(ownDirectory(snapshot), dataFolder)
  for (const folder of ['metadata', 'store']) {
    yield* filesBelow(join(snapshot.directory, folder), `${dataFolder}/engine/store/${folder}`)
  }
}

interface ArchivedFile {
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
  const hashed = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk)
      yield chunk
    }
  }
  const entry = pack.entry({ name, size, mtime, mode: 0o600 })
  await pipeline(createReadStream(from, { highWaterMark: readBytes }), hashed, entry)
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
