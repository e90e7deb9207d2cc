import type { FileProblem } from '../base/files/file-problem.ts'
import { readEntry } from '../intake/entry-batch.ts'

/** Entries of one source, as the lines that the engine stores. */
export interface FixtureFile {
  file: string
  source: string
  lines: Buffer[]
}

/** Later than any fixture, so that no entry is in the future. The engine reads ten digits of seconds. */
export const loadingTimeMs = Date.UTC(2286, 0)

/**
 * Reads entries as the intake does and reports what it would reject. The result does not depend on the current
 * time: an entry must have a timestamp, and an entry without an id gets one from its line number.
 */
export function readFixtureFile(
  file: string,
  source: string,
  content: string,
  projectPath?: readonly string[],
) {
  const problems: FileProblem[] = []
  const lines: Buffer[] = []
  const rules = { nowMs: loadingTimeMs, projectPath }
  for (const [index, text] of content.split('\n').entries()) {
    if (text.trim() === '') continue
    const line = index + 1
    const entry = readEntry(text, { ...rules, newId: () => `${source}-${line}` })
    const report = (message: string) => problems.push({ file, line, column: 1, message })
    if ('reason' in entry) report(`The entry would be rejected: ${entry.reason}.`)
    // The intake replaces a missing timestamp by the current time.
    else if (Number(entry.micros) === loadingTimeMs * 1000) report('The entry needs a timestamp.')
    else lines.push(entry.line)
  }
  return problems.length > 0 ? { problems } : { file, source, lines }
}
