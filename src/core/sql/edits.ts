/** Line and column, both from 1. */
export interface SqlPosition {
  line: number
  column: number
}

export function positionOf(text: string, offset: number): SqlPosition {
  const before = text.slice(0, offset).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}

export function offsetOf(text: string, { line, column }: SqlPosition): number {
  let start = 0
  for (let each = 1; each < line; each++) start = text.indexOf('\n', start) + 1
  return start + column - 1
}

/** Maps a position in a part of a text to the whole text. */
export function within(start: SqlPosition, { line, column }: SqlPosition): SqlPosition {
  return { line: start.line + line - 1, column: line === 1 ? start.column + column - 1 : column }
}

export interface SqlEdit {
  readonly start: number
  readonly end: number
  readonly text: string
  /** The query of another endpoint that the text contains, and where. */
  readonly inner?: { readonly name: string; readonly edited: EditedSql; readonly at: number }
}

export interface EditedSql {
  readonly source: string
  readonly text: string
  readonly edits: readonly SqlEdit[]
}

/** The text after edits that do not overlap, and the edits in the order of the text. */
export function editSql(source: string, edits: readonly SqlEdit[]): EditedSql {
  const ordered = [...edits].sort((a, b) => a.start - b.start)
  let text = ''
  let at = 0
  for (const edit of ordered) {
    text += source.slice(at, edit.start) + edit.text
    at = edit.end
  }
  return { source, text: text + source.slice(at), edits: ordered }
}

/** Maps an offset of the edited text to the author's text; inside an edit, to its start. */
export function sourceOffset(edits: readonly SqlEdit[], offset: number): number {
  let shift = 0
  for (const { start, end, text } of edits) {
    if (offset < start + shift) break
    if (offset < start + shift + text.length) return start
    shift += text.length - (end - start)
  }
  return offset - shift
}

/** The edit that an offset of the edited text is in, with the offset in its text. */
export function editAt(edits: readonly SqlEdit[], offset: number): { edit: SqlEdit; at: number } | undefined {
  let shift = 0
  for (const edit of edits) {
    const { start, end, text } = edit
    if (offset < start + shift) return undefined
    if (offset < start + shift + text.length) return { edit, at: offset - start - shift }
    shift += text.length - (end - start)
  }
  return undefined
}
