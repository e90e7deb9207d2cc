import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { lstat, open, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { extract } from 'tar-stream'
import { restoredFile, restoredText } from '../../core/base/files/restored-file.ts'
import { OperatorError } from '../../core/base/operator-error.ts'
import { singleServer } from '../../core/engine/cluster/topology.ts'
import type { Engine } from '../../core/engine/engine.ts'
import { readStoredTables } from '../../core/engine/stored-tables.ts'
import { mutationName } from '../../core/engine/table-snapshot.ts'
import { type Erasure, erasureFiles, erasuresIn, readErasureFiles } from '../erasure/index.ts'
import {
  checksumLine,
  checksumsName,
  checkVersions,
  damaged,
  dataFolder,
  isDataPath,
  type Manifest,
  manifestName,
  readChecksumLine,
  readManifest,
} from './manifest.ts'
import { checkSpace, StagedDirectory } from './staged-directory.ts'

const maxManifestBytes = 16 * 2 ** 20

interface RestoreOptions {
  from: string
  to: string
  /** A file of erasures, which the restored service applies. False: none, also if the backup shows that there may be some. */
  erasures?: string | false | undefined
  /** Versions that this Wellhead supports. */
  here: { schema: number; library: string }
  /** Checks the data before the directory gets its final name; throws to refuse it. */
  check?: ((dataDir: string, manifest: Manifest) => Promise<void>) | undefined
  onBytes?: (bytes: number, totalBytes: number) => void
  signal?: AbortSignal
}

/** Creates a data directory from a backup, or nothing if any file differs from its checksum. */
export async function restoreBackup(options: RestoreOptions): Promise<Manifest> {
  const { from, to, erasures, here, check, onBytes, signal } = options
  const incomplete = existsSync(from)
    ? `${from} is not a complete backup: ${manifestName} is missing. Restore another backup, or take a new one.`
    : `${from} does not exist.`
  const text = await readFile(join(from, manifestName), 'utf8').catch(
    ifMissing(new OperatorError(incomplete)),
  )
  const manifest = readManifest(text)
  checkVersions(manifest, here)
  await checkFiles(from, manifest)
  const listed = (await readErasureFiles(join(from, dataFolder))).flat()
  if (erasures === undefined && listed.length > 0) {
    throw new OperatorError(
      'Entries were erased before this backup was taken, and may have been since. Name the list of the original data directory with ' +
        `--erasures <directory>/${erasureFiles.own}. If it is lost, use --no-erasures.`,
    )
  }
  const erased = erasures ? await readErasures(erasures, listed) : undefined
  const staged = await StagedDirectory.create(to)
  try {
    await checkSpace(dirname(staged.path), manifest)
    const copied = (bytes: number) => onBytes?.(bytes, manifest.bytes)
    const isReplaced = (path: string) => erased && basename(path) === erasureFiles.restored
    await copyFiles(options, staged, copied, (path) => !isMutation(path) && !isReplaced(path))
    // Before the check, because the engine may remove files.
    await staged.flush()
    await check?.(staged.path, manifest)
    signal?.throwIfAborted()
    // After the check, because an engine that finds mutations runs them and so changes the rows that it counts.
    await copyFiles(options, staged, copied, isMutation)
    if (erased) await staged.write(erasureFiles.restored, Readable.from([erased]))
    await staged.write(restoredFile, Readable.from([Buffer.from(restoredText(manifest.taken_at))]))
    await staged.commit()
    return manifest
  } catch (error) {
    await staged.abandon()
    throw error
  }
}

/** The file of erasures, which must list those of the backup, too. */
async function readErasures(path: string, listed: readonly Erasure[]): Promise<Buffer> {
  const content = await readFile(path).catch(() => {
    throw new OperatorError(`There is no file ${path} that can be read.`)
  })
  const ids = new Set((await erasuresIn(content.toString())).map(({ id }) => id))
  if (ids.size > 0 && listed.every(({ id }) => ids.has(id))) return content
  throw new OperatorError(
    `${path} lists ${ids.size === 0 ? 'no erasures' : 'fewer erasures than the backup'}. Name the ${erasureFiles.own} of the original data directory.`,
  )
}

/** Finds missing files before anything is written. */
async function checkFiles(from: string, manifest: Manifest): Promise<void> {
  const totals = { files: 0, bytes: 0 }
  const hash = createHash('sha256')
  for await (const line of checksumLines(from)) {
    hash.update(`${line}\n`)
    const { path } = readChecksumLine(line)
    const found = await lstat(join(from, path)).catch(ifMissing(damaged(`${path} is missing`)))
    if (!found.isFile()) throw damaged(`${path} is not a file`)
    totals.files++
    totals.bytes += found.size
  }
  if (hash.digest('hex') !== manifest.checksums_sha256 || totals.files !== manifest.files) {
    throw damaged(`${checksumsName} was changed`)
  }
  if (totals.bytes !== manifest.bytes) {
    throw damaged(`its files have ${totals.bytes} bytes instead of ${manifest.bytes}`)
  }
}

async function* checksumLines(from: string): AsyncGenerator<string> {
  const file = await open(join(from, checksumsName)).catch(ifMissing(damaged(`${checksumsName} is missing`)))
  try {
    yield* file.readLines()
  } finally {
    await file.close()
  }
}

function isMutation(path: string): boolean {
  return mutationName.test(basename(path))
}

async function copyFiles(
  { from, signal }: RestoreOptions,
  staged: StagedDirectory,
  onBytes: (bytes: number) => void,
  isWanted: (path: string) => boolean,
): Promise<void> {
  for await (const line of checksumLines(from)) {
    signal?.throwIfAborted()
    const { sha256, path } = readChecksumLine(line)
    if (!isWanted(path)) continue
    const written = await staged.write(
      path.slice(dataFolder.length + 1),
      createReadStream(join(from, path)),
      onBytes,
    )
    if (written.sha256 !== sha256) throw damaged(`${path} was changed`)
  }
}

function ifMissing(problem: OperatorError): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    throw error.code === 'ENOENT' || error.code === 'ENOTDIR' ? problem : error
  }
}

const limits = { deadlineMs: 600_000 }

/** Compares rows with the manifest, because the engine detaches unreadable parts silently. It must be at rest. */
export async function checkRestored(engine: Engine, manifest: Manifest): Promise<void> {
  const found = await readStoredTables(engine, singleServer(engine.database), limits)
  for (const { name, rows } of manifest.tables) {
    const readable = found.get(name)?.rows ?? 0
    if (readable === rows) continue
    throw new OperatorError(
      `The backup has ${rows} rows of table ${name}, but the engine can read only ${readable} of them. ` +
        'Restore another backup, or take a new one. To restore the readable rows, use --no-open.',
    )
  }
}

/** Unpacks an archive into a new directory, which is created only if the archive is complete and undamaged. */
export async function receiveBackup(
  archive: AsyncIterable<Uint8Array>,
  directory: string,
  onBytes: (bytes: number) => void = () => {},
): Promise<Manifest> {
  const staged = await StagedDirectory.create(directory)
  const source = Readable.from(archive)
  try {
    const manifest = await unpack(source, staged, onBytes)
    await staged.commit()
    return manifest
  } catch (error) {
    await staged.abandon()
    // A file that was being unpacked says only that its stream was destroyed.
    throw source.errored ?? error
  }
}

async function unpack(
  source: Readable,
  staged: StagedDirectory,
  onBytes: (bytes: number) => void,
): Promise<Manifest> {
  const unpacker = extract()
  source.on('error', (error) => unpacker.destroy(error))
  source.pipe(unpacker)
  const hash = createHash('sha256')
  const totals = { files: 0, bytes: 0 }
  let checksums: string | undefined
  let manifest: Manifest | undefined
  // Stop the sender when unpacking ends.
  unpacker.once('close', () => source.destroy())
  for await (const entry of unpacker) {
    const { name, type } = entry.header
    const content = entry as AsyncIterable<Uint8Array>
    if (manifest !== undefined || type !== 'file') throw notABackup()
    if (name === manifestName) {
      if ((entry.header.size ?? 0) > maxManifestBytes) throw notABackup()
      const text = await buffer(content)
      await staged.write(name, Readable.from([text]))
      manifest = readManifest(text.toString())
    } else if (name === checksumsName && checksums === undefined) {
      checksums = (await staged.write(name, content, onBytes)).sha256
    } else if (isDataPath(name) && checksums === undefined) {
      const { sha256, bytes } = await staged.write(name, content, onBytes)
      hash.update(checksumLine(sha256, name))
      totals.files++
      totals.bytes += bytes
    } else throw notABackup()
  }
  if (manifest === undefined) {
    throw new OperatorError('The backup is incomplete and was discarded. Try again.')
  }
  const received = hash.digest('hex')
  const same =
    received === checksums &&
    received === manifest.checksums_sha256 &&
    totals.files === manifest.files &&
    totals.bytes === manifest.bytes
  if (!same) throw new OperatorError('The backup was damaged in transit and was discarded. Try again.')
  return manifest
}

function notABackup(): OperatorError {
  return new OperatorError('The response is not a backup of Wellhead.')
}
