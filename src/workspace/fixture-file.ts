import { readEntry } from '../intake/entry.ts'
import type { FileProblem } from './file-problem.ts'

/** Entries of one source, as the lines that the engine stores. */
export interface FixtureFile {
  file: string
  source: string
  lines: Buffer[]
}

/** Later than any entry that somebody would write, so that none is ahead of it. The engine reads ten digits of seconds. */
export const loadingTimeMs = Date.UTC(2286, 0)

/** What the timestamp of an entry becomes that has none. */
const loadingMicros = loadingTimeMs * 1000

/**
 * Reads entries as the intake would, so that whatever it would reject is told at its place. Nothing of an entry may
 * depend on when it is loaded: it has to have a timestamp, and one without an id gets that of its line.
 */
export function readFixtureFile(
  file: string,
  source: string,
  content: string,
): FixtureFile | { problems: FileProblem[] } {
  const problems: FileProblem[] = []
  const lines: Buffer[] = []
  for (const [index, line] of content.split('\n').entries()) {
    if (line.trim() === '') continue
    const reading = readLine(line, `${source}-${index + 1}`)
    if ('reason' in reading) {
      problems.push({ file, line: index + 1, column: 1, message: `The entry is refused: ${reading.reason}.` })
    } else lines.push(reading.line)
  }
  return problems.length > 0 ? { problems } : { file, source, lines }
}

function readLine(text: string, id: string): { line: Buffer } | { reason: string } {
  const reading = readEntry(text, { nowMs: loadingTimeMs, newId: () => id })
  if ('micros' in reading && Number(reading.micros) === loadingMicros) {
    return { reason: 'it has no timestamp, and a test must not depend on when it runs' }
  }
  return reading
}
