import { type LineWriter, syntax } from './lines.ts'
import type { RuledEntry, Rules } from './rules/rules.ts'

/** What is kept of a rejected entry whose fields cannot be found, and which may have what rules would have taken out. */
export const withheld = 'The text is not kept, because the source has rules that remove, redact or mask.'

/** Where parts of a line begin. */
export interface LineParts {
  id: number
  timestamp: number
  message: number
  metadata: number
}

/** Applies rules to the line that is not ended. False if the entry is dropped. */
export function applyToLine(rules: Rules, lines: LineWriter, at: LineParts, hits: number[]): boolean {
  const text = (start: number, end: number) => JSON.parse(lines.part(start, end).toString()) as string
  const message = lines.part(at.message, at.metadata - syntax.metadata.length)
  const metadata = lines.part(at.metadata, lines.lineLength - syntax.close.length)
  const entry: RuledEntry = {
    text: (column) =>
      column === 'id' ? text(at.id, at.timestamp) : text(syntax.project.length, at.id - syntax.id.length),
    message,
    metadata,
  }
  if (!rules.apply(entry, hits)) return false
  if (entry.message === message && entry.metadata === metadata) return true
  // What did not change is a part of the line.
  const [newMessage, newMetadata] = [Buffer.from(entry.message), Buffer.from(entry.metadata)]
  lines.cut(at.message)
  lines.copy(newMessage)
  lines.copy(syntax.metadata)
  lines.copy(newMetadata)
  lines.copy(syntax.close)
  return true
}
