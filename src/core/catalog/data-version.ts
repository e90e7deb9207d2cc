import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { dataFiles } from '../base/files/data-files.ts'
import { writeWhole } from '../base/files/disk.ts'
import { OperatorError } from '../base/operator-error.ts'
import { version } from '../base/package-file.ts'
import { engineLibraryVersion } from '../engine/embedded-engine.ts'
import { refuseNewerSchema, schemaVersion, startNewer } from './migrations.ts'

/** Which version has last opened a data directory; doctor and older versions read it before they start an engine. */
const shape = z.object({ wellhead: z.string(), schema: z.number().int(), library: z.string() })
export type DataVersion = z.infer<typeof shape>

export const ownVersion = (): DataVersion => ({
  wellhead: version,
  schema: schemaVersion,
  library: engineLibraryVersion(),
})

/** Undefined for a directory without the file, such as a new one. */
export function readDataVersion(dataDir: string): DataVersion | undefined {
  try {
    return shape.safeParse(JSON.parse(readFileSync(join(dataDir, dataFiles.version), 'utf8'))).data
  } catch {
    return undefined
  }
}

export function writeDataVersion(dataDir: string): void {
  writeWhole(join(dataDir, dataFiles.version), `${JSON.stringify(ownVersion())}\n`, 0o600)
}

/** Refuses data of a newer schema or engine, and names the version that can open it. `what` is "The data" or "The backup". */
export function refuseNewer(
  what: string,
  data: DataVersion,
  here: Omit<DataVersion, 'wellhead'>,
  advice: string,
): void {
  refuseNewerSchema(what, data, here.schema, advice)
  if (data.library.localeCompare(here.library, 'en', { numeric: true }) <= 0) return
  throw new OperatorError(
    `${what} is from Wellhead ${data.wellhead} with chdb ${data.library}; this version has chdb ${here.library}, which is older. ${advice}`,
  )
}

export function refuseNewerData(dataDir: string): void {
  const found = readDataVersion(dataDir)
  if (found) refuseNewer(`The data in ${dataDir}`, found, ownVersion(), startNewer(found.wellhead))
}
