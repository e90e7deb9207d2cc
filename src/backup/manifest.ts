import { z } from 'zod'
import type { FrozenTable } from '../engine/table-snapshot.ts'

/** Raised when an older Wellhead could not read what a newer one writes. */
export const backupFormat = 1

export const manifestName = 'manifest.json'
/** Lines as `sha256sum` writes and checks them, one for each file below `data`. */
export const checksumsName = 'SHA256SUMS'
/** What is below it becomes the data directory. */
export const dataFolder = 'data'

const whole = z.number().int().nonnegative()
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

/** The last file of a backup: where it is, the backup is whole. */
const manifestShape = z.object({
  format: z.number().int().positive(),
  wellhead: z.string(),
  engine: z.object({ version: z.string(), library: z.string() }),
  schema: whole,
  taken_at: z.iso.datetime(),
  tables: z.array(z.object({ name: z.string(), rows: whole, parts: z.array(z.string()) })),
  files: whole,
  bytes: whole,
  checksums_sha256: sha256,
})

export type Manifest = z.infer<typeof manifestShape>

/** What cannot be backed up or restored, in words for who asked. */
export class BackupProblem extends Error {
  override readonly name = 'BackupProblem'
}

/** What is stored of a backup is not what was written. */
export function damaged(what: string): BackupProblem {
  return new BackupProblem(`The backup is damaged: ${what}. Restore another backup, or take a new one.`)
}

export function describeBackup(given: {
  wellhead: string
  engine: Manifest['engine']
  schema: number
  takenAt: number
  tables: readonly FrozenTable[]
  files: number
  bytes: number
  checksums: string
}): string {
  const { wellhead, engine, schema, takenAt, tables, files, bytes, checksums } = given
  const manifest: Manifest = {
    format: backupFormat,
    wellhead,
    engine,
    schema,
    taken_at: new Date(takenAt).toISOString(),
    tables: [...tables],
    files,
    bytes,
    checksums_sha256: checksums,
  }
  return `${JSON.stringify(manifest, null, 2)}\n`
}

/** The format is looked at first: what a newer one holds is not known here. */
export function readManifest(text: string): Manifest {
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch {
    throw damaged(`${manifestName} is not JSON`)
  }
  const format = (given as { format?: unknown } | null)?.format
  if (typeof format === 'number' && format > backupFormat) {
    throw new BackupProblem(
      `The backup has format ${format}, and this Wellhead reads up to ${backupFormat}. Restore it with a newer one.`,
    )
  }
  const parsed = manifestShape.safeParse(given)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw damaged(`${manifestName} has a wrong "${issue?.path.join('.') ?? ''}": ${issue?.message ?? ''}`)
}

/** Data of a newer schema or engine cannot be opened by older ones. */
export function checkVersions(manifest: Manifest, here: { schema: number; library: string }): void {
  if (manifest.schema > here.schema) {
    throw new BackupProblem(
      `The backup was made by Wellhead ${manifest.wellhead}, whose data has schema ${manifest.schema}; ` +
        `this one knows up to ${here.schema}. Restore it with that version or a newer one.`,
    )
  }
  if (compareVersions(manifest.engine.library, here.library) > 0) {
    throw new BackupProblem(
      `The backup was written by the engine ${manifest.engine.version} (chdb ${manifest.engine.library}), ` +
        `and this Wellhead has chdb ${here.library}, which is older. Restore it with Wellhead ${manifest.wellhead} or newer.`,
    )
  }
}

/** Below zero, zero or above it, as the first is older, the same or newer. */
export function compareVersions(one: string, other: string): number {
  const numbers = (version: string) => version.split(/[.+-]/).map((part) => Number.parseInt(part, 10) || 0)
  const [left, right] = [numbers(one), numbers(other)]
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** Longer ones cannot be written on any system that this runs on. */
const maxPathLength = 1024

/** Whoever gives us a backup must not choose where its files go. */
export function isDataPath(path: string): boolean {
  const [folder, ...rest] = path.split('/')
  return (
    folder === dataFolder &&
    rest.length > 0 &&
    path.length <= maxPathLength &&
    rest.every((part) => part !== '' && part !== '.' && part !== '..') &&
    !/[\\\p{Cc}]/u.test(path)
  )
}

export function checksumLine(sha256: string, path: string): string {
  return `${sha256}  ${path}\n`
}

export function readChecksumLine(line: string): { sha256: string; path: string } {
  const [, sha256, path] = /^([0-9a-f]{64}) {2}(.+)$/.exec(line) ?? []
  if (sha256 === undefined || path === undefined || !isDataPath(path)) {
    throw damaged(`${checksumsName} has an unreadable line`)
  }
  return { sha256, path }
}
