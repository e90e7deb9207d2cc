import { z } from 'zod'
import { OperatorError } from '../../core/base/operator-error.ts'
import { firstProblem } from '../../core/base/validation.ts'
import { type DataVersion, refuseNewer } from '../../core/catalog/data-version.ts'

/** Incremented when older versions cannot read the new format. */
const backupFormat = 1

export const manifestName = 'manifest.json'
/** In the format of `sha256sum`, with a line for each file below `data`. */
export const checksumsName = 'SHA256SUMS'
/** Its content becomes the data directory. */
export const dataFolder = 'data'

const whole = z.number().int().nonnegative()
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

/** The last file of a backup, so a backup that has it is complete. */
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

export function damaged(what: string): OperatorError {
  return new OperatorError(`The backup is damaged: ${what}. Restore another backup, or take a new one.`)
}

export function formatManifest(fields: Omit<Manifest, 'format'>): string {
  return `${JSON.stringify({ format: backupFormat, ...fields }, null, 2)}\n`
}

/** Checks the format first, because a newer one may have other fields. */
export function readManifest(text: string): Manifest {
  let fields: unknown
  try {
    fields = JSON.parse(text)
  } catch {
    throw damaged(`${manifestName} is not JSON`)
  }
  const format = (fields as { format?: unknown } | null)?.format
  if (typeof format === 'number' && format > backupFormat) {
    throw new OperatorError(
      `The backup has format ${format}; this version of Wellhead reads formats up to ${backupFormat}. Restore it with a newer version.`,
    )
  }
  const parsed = manifestShape.safeParse(fields)
  if (parsed.success) return parsed.data
  const { field, message } = firstProblem(parsed.error)
  throw damaged(`${manifestName} has an invalid "${field}": ${message}`)
}

/** Older versions cannot open data of a newer schema or engine. */
export function checkVersions(
  { wellhead, schema, engine: { library } }: Manifest,
  here: Omit<DataVersion, 'wellhead'>,
): void {
  const advice = `Restore it with Wellhead ${wellhead} or newer.`
  refuseNewer('The backup', { wellhead, schema, library }, here, advice)
}

const maxPathLength = 1024

/** A backup from an untrusted place must not choose where its files go. */
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
