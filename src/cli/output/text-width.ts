const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
const plain = /^[\x20-\x7e]*$/
const wide =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|\ufe0f/u
const invisible = /^[\p{Mark}\p{Cf}]+$/u

/** Cells that a text takes on a terminal. */
export function textWidth(text: string): number {
  if (plain.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += cells(segment)
  return width
}

function cells(grapheme: string): number {
  if (invisible.test(grapheme)) return 0
  return wide.test(grapheme) ? 2 : 1
}

/** The text if it fits, else its beginning with an ellipsis. */
export function cutToWidth(text: string, width: number): string {
  if (text.length <= width && plain.test(text)) return text
  let kept = ''
  let used = 0
  for (const { segment } of graphemes.segment(text)) {
    const next = cells(segment)
    if (used + next > width) {
      // Room for the ellipsis is made by what was kept last.
      while (used > width - 1) {
        const last = [...graphemes.segment(kept)].at(-1)?.segment ?? ''
        if (last === '') break
        kept = kept.slice(0, -last.length)
        used -= cells(last)
      }
      return width > 0 ? `${kept}…` : ''
    }
    kept += segment
    used += next
  }
  return text
}

const control = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu
const known: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** What comes from logs must not steer the terminal that shows it. */
export function visible(text: string): string {
  return text.replace(
    control,
    (character) =>
      known[character] ?? `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, '0')}`,
  )
}
