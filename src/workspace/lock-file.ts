import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import writeFileAtomic from 'write-file-atomic'
import { OperatorError } from '../base/operator-error.ts'

export const lockFile = 'wellhead.lock'

/** Versions by service and definition: `https://wellhead.example.com endpoints/usage` → 7. */
type LockedVersions = Map<string, number>

const head = `# The versions of each service that pull and deploy last saw. Keep this file in git.
# After a merge conflict, keep the lines of both sides: the highest version counts.
`
const lockedLine = /^(\S+ [a-z]+\/\S+) ([1-9]\d{0,8})$/
/** Between the two sides of a merge conflict. */
const ignoredLine = /^(?:#|<{7}|\|{7}|={7}|>{7}|$)/

/** Without a file, nothing was seen. */
export function readLockFile(directory: string): LockedVersions {
  return parseLock(readText(directory))
}

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

export function writeLockFile(directory: string, versions: LockedVersions): void {
  const text = formatLock(versions)
  if (text !== readText(directory)) writeFileAtomic.sync(join(directory, lockFile), text)
}

function readText(directory: string): string {
  try {
    return readFileSync(join(directory, lockFile), 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return ''
    throw new OperatorError(`Cannot read ${lockFile}: ${message}.`)
  }
}
