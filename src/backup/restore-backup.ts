import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, open, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { mutationName } from '../engine/table-snapshot.ts'
import { checkSpace } from './free-space.ts'
import {
  BackupProblem,
  checksumsName,
  checkVersions,
  damaged,
  dataFolder,
  type Manifest,
  manifestName,
  readChecksumLine,
  readManifest,
} from './manifest.ts'
import { StagedDirectory } from './staged-directory.ts'

export interface RestoreOptions {
  from: string
  to: string
  /** What this Wellhead can open. */
  here: { schema: number; library: string }
  /** Looks at the restored data before it gets its place; what it throws, refuses it. */
  check?: ((dataDir: string, manifest: Manifest) => Promise<void>) | undefined
  onStart?: (manifest: Manifest) => void
  onBytes?: (bytes: number) => void
  signal?: AbortSignal
}

/** Creates a data directory from a backup. Every file is compared with its checksum; one that differs refuses all. */
export async function restoreBackup(options: RestoreOptions): Promise<Manifest> {
  const { from, to, here, check, onStart, signal } = options
  const manifest = readManifest(await readManifestFile(from))
  checkVersions(manifest, here)
  await checkFiles(from, manifest)
  const staged = await StagedDirectory.create(to)
  try {
    await checkSpace(dirname(staged.path), manifest)
    onStart?.(manifest)
    await copyFiles(options, staged, (path) => !isMutation(path))
    // Whatever the engine that checks does to its files, those of the backup are on disk before.
    await staged.flush()
    await check?.(staged.path, manifest)
    signal?.throwIfAborted()
    // An engine that finds these goes on changing and removing rows, so the one that counts them must not.
    await copyFiles(options, staged, isMutation)
    await staged.commit()
    return manifest
  } catch (error) {
    await staged.abandon()
    throw error
  }
}

async function readManifestFile(from: string): Promise<string> {
  try {
    return await readFile(join(from, manifestName), 'utf8')
  } catch (error) {
    if (!isMissing(error)) throw error
    throw new BackupProblem(
      `${from} is not a complete backup: it has no ${manifestName}, which is written last. ` +
        'Restore another backup, or take a new one.',
    )
  }
}

/** Tells what is missing before anything is written. */
async function checkFiles(from: string, manifest: Manifest): Promise<void> {
  const totals = { files: 0, bytes: 0 }
  const hash = createHash('sha256')
  for await (const line of checksumLines(from)) {
    hash.update(`${line}\n`)
    const { path } = readChecksumLine(line)
    const found = await lstat(join(from, path)).catch((error) => {
      if (!isMissing(error)) throw error
      throw damaged(`${path} is missing`)
    })
    if (!found.isFile()) throw damaged(`${path} is not a file`)
    totals.files++
    totals.bytes += found.size
  }
  if (hash.digest('hex') !== manifest.checksums_sha256 || totals.files !== manifest.files) {
    throw damaged(`${checksumsName} is not the one that was written`)
  }
  if (totals.bytes !== manifest.bytes) {
    throw damaged(`its files have ${totals.bytes} bytes, and ${manifest.bytes} were written`)
  }
}

async function* checksumLines(from: string): AsyncGenerator<string> {
  const file = await open(join(from, checksumsName)).catch((error) => {
    if (!isMissing(error)) throw error
    throw damaged(`${checksumsName} is missing`)
  })
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
  { from, onBytes, signal }: RestoreOptions,
  staged: StagedDirectory,
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
    if (written.sha256 !== sha256) {
      throw damaged(`${path} is not as it was written`)
    }
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR'
}
