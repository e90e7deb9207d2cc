import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import writeFileAtomic from 'write-file-atomic'
import { OperatorError } from '../../core/base/operator-error.ts'
import type { KindForm } from '../../core/definitions/kind.ts'
import type { ServiceClient } from '../kit/service-client.ts'
import type { ServiceDefinition } from './plan.ts'

interface SeenVersion {
  kind: Pick<KindForm, 'folder'>
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
  const before = readLock(directory)
  const locked = parseLock(before)
  return {
    newer({ kind, fields, version, updatedBy, isShipped }: ServiceDefinition): NewerVersion | undefined {
      const seen = locked.get(`${url} ${kind.folder}/${fields.name}`) ?? 0
      const { id, name, at } = updatedBy
      return id === me || isShipped || version <= seen ? undefined : { version, by: name ?? id, at }
    },
    async write(seen: readonly SeenVersion[], others: 'stay' | 'go'): Promise<void> {
      for (const key of [...locked.keys()]) {
        if (others === 'go' && key.startsWith(`${url} `)) locked.delete(key)
      }
      for (const { kind, name, version, by = me } of seen) {
        const key = `${url} ${kind.folder}/${name}`
        // Everybody has a local service of their own, so their own versions would differ in every copy of the repository.
        if (isLocal && by === me) locked.delete(key)
        else locked.set(key, version)
      }
      try {
        const text = formatLock(locked)
        if (text !== before) writeFileAtomic.sync(join(directory, lockFile), text)
      } catch (error) {
        // Files or the service are changed already.
        await client.io.stderr.write(`wellhead: Cannot write ${lockFile}: ${(error as Error).message}\n`)
      }
    },
  }
}

const lockFile = 'wellhead.lock'

/** Versions by service and definition: `https://wellhead.example.com endpoints/usage` → 7. */
type LockedVersions = Map<string, number>

const head = `# The versions of each service that pull and deploy last saw. Keep this file in git.
# After a merge conflict, keep the lines of both sides: the highest version counts.
`
const lockedLine = /^(\S+ [a-z]+\/\S+) ([1-9]\d{0,8})$/
/** Between the two sides of a merge conflict. */
const ignoredLine = /^(?:#|<{7}|\|{7}|={7}|>{7}|$)/

export function parseLock(text: string): LockedVersions {
  const versions: LockedVersions = new Map()
  for (const [index, line] of text.split('\n').entries()) {
    const [, definition, version] = lockedLine.exec(line.trim()) ?? []
    if (definition !== undefined) {
      versions.set(definition, Math.max(versions.get(definition) ?? 0, Number(version)))
    } else if (!ignoredLine.test(line.trim())) {
      throw new OperatorError(
        `${lockFile}:${index + 1}: This is not a line such as "https://wellhead.example.com endpoints/usage 7". ` +
          'Restore the file with git, or delete it and run wellhead pull.',
      )
    }
  }
  return versions
}

/** One line for each definition, in order, so that changes of different definitions merge. */
export function formatLock(versions: LockedVersions): string {
  const lines = [...versions].map(([definition, version]) => `${definition} ${version}\n`)
  return versions.size === 0 ? '' : head + lines.sort().join('')
}

/** Without a file, nothing was seen. */
function readLock(directory: string): string {
  try {
    return readFileSync(join(directory, lockFile), 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return ''
    throw new OperatorError(`Cannot read ${lockFile}: ${message}.`)
  }
}
