/** Texts, keys with their colon, and numbers in JSON without spaces. A text without its end cannot occur, but takes no longer. */
export const jsonScalar = /"(?:[^"\\]|\\.)*"?:?|-?[0-9][0-9.eE+-]*/

/** Four letters are the least that the index of words can find. */
const plainPieces = /[A-Za-z0-9_.-]{4,}/g

/**
 * Texts of which an entry with this word has at least one, in lower case and as JSON: the longest piece of the word that needs no
 * escape, and how escapes of its letters begin, if a sender escapes them nevertheless. None if the word has no such piece.
 */
export function neededTexts(word: string): string[] {
  const pieces: string[] = word.match(plainPieces) ?? []
  const piece = pieces.sort((one, other) => other.length - one.length)[0]?.toLowerCase()
  if (piece === undefined) return []
  const letters = [...piece, ...piece.toUpperCase()]
  return [piece, ...new Set(letters.map((letter) => `\\u00${letter.charCodeAt(0) >> 4}`))]
}
