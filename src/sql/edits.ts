/** A part of an author's text and what is sent to the engine in its place. */
export interface SqlEdit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** A text with its edits made, none of which overlap. */
export interface EditedSql {
  /** As its author wrote it. */
  readonly source: string
  readonly text: string
  /** In the order of the text. */
  readonly edits: readonly SqlEdit[]
}

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

/** The place in the author's text of a place in the edited one: inside of an edit, where the edit begins. */
export function sourceOffset(edits: readonly SqlEdit[], offset: number): number {
  let shift = 0
  for (const { start, end, text } of edits) {
    if (offset < start + shift) break
    if (offset < start + shift + text.length) return start
    shift += text.length - (end - start)
  }
  return offset - shift
}
