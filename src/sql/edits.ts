export interface SqlEdit {
  readonly start: number
  readonly end: number
  readonly text: string
}

export type EditedSql = Readonly<ReturnType<typeof editSql>>

/** The text after edits that do not overlap, and the edits in the order of the text. */
export function editSql(source: string, edits: readonly SqlEdit[]) {
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
