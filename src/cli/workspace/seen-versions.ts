import { lockFile, readLockFile, writeLockFile } from '../../workspace/lock-file.ts'
import type { CommandIo } from '../command-io.ts'
import type { ServiceClient } from '../service-client.ts'
import type { ServiceDefinition } from './plan.ts'

interface SeenVersion {
  folder: string
  name: string
  version: number
  /** Id of its author. Undefined: the caller. */
  by: string | undefined
}

/** A version that somebody else made, and the workspace has not seen. */
export interface NewerVersion {
  version: number
  by: string
  at: string
}

export type SeenVersions = Awaited<ReturnType<typeof seenVersions>>

/** The versions of a service that a workspace has seen: those of its lock file, and those that the caller made. */
export async function seenVersions(directory: string, client: ServiceClient) {
  const { id: me } = await client.json<{ id: string }>('GET', '/api/whoami')
  const { url, isLocal } = client.find()
  const locked = readLockFile(directory)
  return {
    newer({ kind, fields, version, updatedBy, isShipped }: ServiceDefinition): NewerVersion | undefined {
      const seen = locked.get(`${url} ${kind.folder}/${fields.name}`) ?? 0
      const { id, name, at } = updatedBy
      return id === me || isShipped || version <= seen ? undefined : { version, by: name ?? id, at }
    },
    async write(seen: readonly SeenVersion[], others: 'stay' | 'go', { stderr }: CommandIo): Promise<void> {
      for (const key of [...locked.keys()]) {
        if (others === 'go' && key.startsWith(`${url} `)) locked.delete(key)
      }
      for (const { folder, name, version, by = me } of seen) {
        const key = `${url} ${folder}/${name}`
        // Everybody has a local service of their own, so their own versions would differ in every copy of the repository.
        if (isLocal && by === me) locked.delete(key)
        else locked.set(key, version)
      }
      try {
        writeLockFile(directory, locked)
      } catch (error) {
        // Files or the service are changed already.
        await stderr.write(`wellhead: Cannot write ${lockFile}: ${(error as Error).message}\n`)
      }
    },
  }
}
