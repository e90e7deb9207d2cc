import { copyFile, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { type Pack, pack } from 'tar-stream'
import type { Clock } from '../base/clock.ts'
import { backupUnavailable, diskFull } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { version } from '../base/version.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { schemaVersion } from '../catalog/migrations.ts'
import { engineLibraryVersion, storeDirectoryOf } from '../engine/embedded-engine.ts'
import type { Engine } from '../engine/engine.ts'

import { removeLeftSnapshot, snapshotTables, type TableSnapshot } from '../engine/table-snapshot.ts'
import { type ArchivedFile, filesBelow, packBackup } from './backup-archive.ts'
import { dataFolder, describeBackup } from './manifest.ts'

export interface BackupsOptions {
  engine: Engine
  catalog: Pick<Catalog, 'hold'>
  clock: Clock
  log: Log
  /** Undefined where a ClickHouse server keeps the data. */
  dataDir: string | undefined
  /** Whoever takes nothing for so long is gone: what is held for them takes space. */
  stalledAfterMs: number
}

export interface RunningBackup {
  /** A tar archive. */
  stream: Readable
  /** How many bytes its files have. */
  bytes: number
}

/** What the service keeps beside the engine's files. */
const ownFiles = ['admin-token', 'hot-keys.json']

/** Takes backups while the service goes on, one at a time. */
export class Backups {
  readonly #options: BackupsOptions
  #running: Promise<void> | undefined

  constructor(options: BackupsOptions) {
    this.#options = options
  }

  async open(): Promise<void> {
    if (this.#options.dataDir !== undefined) {
      await removeLeftSnapshot(storeDirectoryOf(this.#options.dataDir))
    }
  }

  /** Resolves once the moment of the backup is held; from then on the stream takes as long as its reader. */
  async begin(): Promise<RunningBackup> {
    const { dataDir, engine, catalog, clock } = this.#options
    if (dataDir === undefined) {
      throw backupUnavailable(
        'A ClickHouse server keeps the data. Back it up with its own BACKUP statement (docs/operating.md).',
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
      const store = storeDirectoryOf(dataDir)
      const snapshot = await catalog.hold(() => snapshotTables(engine, store))
      let bytes = 0
      try {
        await copyOwnFiles(dataDir, ownDirectory(snapshot))
        for await (const { from } of filesOf(snapshot)) bytes += (await stat(from)).size
      } catch (error) {
        await snapshot.release()
        throw error
      }
      return { stream: this.#stream(snapshot, takenAt, ended), bytes }
    } catch (error) {
      ended()
      if (!diskFull.is(error) && !noSpaceLeft(error)) throw error
      throw backupUnavailable(
        'The disk of the service has no space left for a backup. Free some space there and try again.',
      )
    }
  }

  #stream(snapshot: TableSnapshot, takenAt: number, ended: () => void): Readable {
    const { log, stalledAfterMs } = this.#options
    const archive = pack()
    // It is told to whoever reads, and below.
    archive.on('error', () => {})
    const packing = packBackup(archive, {
      files: filesOf(snapshot),
      checksumsFile: join(snapshot.directory, 'checksums'),
      manifest: (totals) =>
        describeBackup({
          wellhead: version,
          engine: { version: snapshot.engineVersion, library: engineLibraryVersion() },
          schema: schemaVersion,
          takenAt,
          tables: snapshot.tables,
          ...totals,
        }),
    })
    void packing
      .then(
        () => log.info({ tables: snapshot.tables.length }, 'backup written'),
        (error) => {
          log.warn({ err: error }, 'a backup was not finished')
          archive.destroy(error)
        },
      )
      .then(() => snapshot.release())
      .catch((error) => log.error({ err: error }, 'what a backup held could not be removed'))
      .finally(ended)
    const stream = Readable.from(unlessStalled(archive, stalledAfterMs), { objectMode: false })
    // A reader that left before the first byte has never begun to read.
    stream.once('close', () => archive.destroy())
    return stream
  }

  /** Resolves when nothing is held any more. */
  async stop(): Promise<void> {
    await this.#running
  }
}

async function* unlessStalled(archive: Pack, afterMs: number): AsyncGenerator<Buffer> {
  const timer = setTimeout(() => archive.destroy(new Error('Nobody reads the backup.')), afterMs)
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

function ownDirectory(snapshot: TableSnapshot): string {
  return join(snapshot.directory, 'own')
}

async function copyOwnFiles(dataDir: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  for (const name of ownFiles) {
    await copyFile(join(dataDir, name), join(to, name)).catch((error) => {
      // A token that is a setting is in no file, and what was hot is not known before the first minute.
      if (error.code !== 'ENOENT') throw error
    })
  }
}

async function* filesOf(snapshot: TableSnapshot): AsyncGenerator<ArchivedFile> {
  yield* filesBelow(ownDirectory(snapshot), dataFolder)
  for (const folder of ['metadata', 'store']) {
    yield* filesBelow(join(snapshot.directory, folder), `${dataFolder}/engine/store/${folder}`)
  }
}

function noSpaceLeft(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === 'ENOSPC'
}
