import { readEntry } from '../ingest/entry.ts'
import { readTimestamp } from '../ingest/entry-timestamp.ts'
import { parseJson, stringifyJson } from '../ingest/faithful-json.ts'
import type { FileProblem } from './file-problem.ts'

/** Entries of one source, each a line of JSON that is sent as it is. */
export interface FixtureFile {
  file: string
  source: string
  lines: string[]
}

/** Later than any entry that somebody would write, so that none is ahead of it. The engine reads ten digits of seconds. */
export const loadingTimeMs = Date.UTC(2286, 0)

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
  const lines: string[] = []
  for (const [index, line] of content.split('\n').entries()) {
    if (line.trim() === '') continue
    const reading = readLine(line, `${source}-${index + 1}`)
    if ('reason' in reading) {
      problems.push({ file, line: index + 1, column: 1, message: `The entry is refused: ${reading.reason}.` })
    } else lines.push(reading.line)
  }
  return problems.length > 0 ? { problems } : { file, source, lines }
}

function readLine(text: string, id: string): { line: string } | { reason: string } {
  let value: unknown
  try {
    value = parseJson(text)
  } catch {
    return { reason: 'the line is not valid JSON' }
  }
  const reading = readEntry(value, loadingTimeMs)
  if ('reason' in reading) return reading
  const entry = value as Record<string, unknown>
  if (readTimestamp(entry.timestamp) === undefined) {
    return { reason: 'it has no timestamp, and a test must not depend on when it runs' }
  }
  return { line: stringifyJson({ id, ...withoutAbsent(entry) }) }
}

/** A null id is none, and would hide the one that is given here. */
function withoutAbsent({ id, ...entry }: Record<string, unknown>): Record<string, unknown> {
  return id === undefined || id === null ? entry : { id, ...entry }
}
