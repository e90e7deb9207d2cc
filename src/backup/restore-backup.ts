import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, open, readFile, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  BackupProblem,
  checksumsName,
  checkVersions,
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

/** Makes a data directory of a backup. Every file is held against its checksum; one that differs refuses all. */
export async function restoreBackup(options: RestoreOptions): Promise<Manifest> {
  const { from, to, here, check, onStart, signal } = options
  const manifest = readManifest(await readManifestFile(from))
  checkVersions(manifest, here)
  await checkFiles(from, manifest)
  const staged = await StagedDirectory.create(to)
  try {
    await checkSpace(dirname(staged.path), manifest.bytes)
    onStart?.(manifest)
    await copyFiles(options, staged)
    await check?.(staged.path, manifest)
    signal?.throwIfAborted()
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
      `${from} is no whole backup: it has no ${manifestName}, which is written last. Take another one.`,
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
      throw new BackupProblem(`The backup is damaged: ${path} is missing.`)
    })
    if (!found.isFile()) throw new BackupProblem(`The backup is damaged: ${path} is no file.`)
    totals.files++
    totals.bytes += found.size
  }
  if (hash.digest('hex') !== manifest.checksums_sha256 || totals.files !== manifest.files) {
    throw new BackupProblem(`The backup is damaged: ${checksumsName} is not the one that was written.`)
  }
  if (totals.bytes !== manifest.bytes) {
    throw new BackupProblem(
      `The backup is damaged: its files have ${totals.bytes} bytes, and ${manifest.bytes} were written.`,
    )
  }
}

async function* checksumLines(from: string): AsyncGenerator<string> {
  const file = await open(join(from, checksumsName)).catch((error) => {
    if (!isMissing(error)) throw error
    throw new BackupProblem(`The backup is damaged: ${checksumsName} is missing.`)
  })
  try {
    yield* file.readLines()
  } finally {
    await file.close()
  }
}

async function checkSpace(directory: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(directory)
  if (bavail * bsize > bytes) return
  throw new BackupProblem(
    `The backup takes ${Math.ceil(bytes / 2 ** 20)} MiB, and there are only ` +
      `${Math.floor((bavail * bsize) / 2 ** 20)} MiB free below ${directory}.`,
  )
}

async function copyFiles({ from, onBytes, signal }: RestoreOptions, staged: StagedDirectory): Promise<void> {
  for await (const line of checksumLines(from)) {
    signal?.throwIfAborted()
    const { sha256, path } = readChecksumLine(line)
    const written = await staged.write(
      path.slice(dataFolder.length + 1),
      createReadStream(join(from, path)),
      onBytes,
    )
    if (written.sha256 !== sha256) {
      throw new BackupProblem(`The backup is damaged: ${path} is not as it was written.`)
    }
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR'
}
