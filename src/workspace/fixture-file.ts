import type { FileProblem } from '../core/base/files/file-problem.ts'
import { type NewSource, projectKeys } from '../core/catalog/source.ts'
import { readEntry } from '../core/intake/entry-batch.ts'
import { Rules } from '../core/intake/rules/rules.ts'

/** Entries of one source, as the lines that the engine stores. */
export interface FixtureFile {
  file: string
  source: string
  lines: Buffer[]
}

type Declared = Pick<NewSource, 'rules' | 'columns' | 'project'>

/** Later than any fixture, so that no entry is in the future. The engine reads ten digits of seconds. */
export const loadingTimeMs = Date.UTC(2286, 0)

/**
 * Reads entries as the intake does, applies the rules of their source, and reports what would be rejected. The result does not depend on the current
 * time: an entry must have a timestamp, and an entry without an id gets one from its line number.
 */
export function readFixtureFile(file: string, source: string, content: string, declared?: Declared) {
  const problems: FileProblem[] = []
  const lines: Buffer[] = []
  const terms = { nowMs: loadingTimeMs, ...(declared && termsOf(declared)) }
  for (const [index, text] of content.split('\n').entries()) {
    if (text.trim() === '') continue
    const line = index + 1
    const entry = readEntry(text, { ...terms, newId: () => `${source}-${line}` })
    const report = (message: string) => problems.push({ file, line, column: 1, message })
    // Rules of the source drop entries on purpose.
    if ('reason' in entry) {
      if (!entry.dropped) report(`The entry would be rejected: ${entry.reason}.`)
    } else if (Number(entry.micros) === loadingTimeMs * 1000) {
      // The intake replaces a missing timestamp by the current time.
      report('The entry needs a timestamp.')
    } else lines.push(entry.line)
  }
  return problems.length > 0 ? { problems } : { file, source, lines }
}

function termsOf(source: Declared) {
  const projectPath = projectKeys(source)
  try {
    return { projectPath, rules: new Rules(source.rules, () => source.columns) }
  } catch {
    // The check of the source reports its rules.
    return { projectPath }
  }
}
