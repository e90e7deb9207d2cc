const ascii = /^[\0-\x7f]*$/

/**
 * Lower case as the engine's case-insensitive functions see it: character by character, so that a final sigma is not special.
 * A letter that becomes several characters stays as it is.
 */
export function lowerCase(text: string): string {
  if (ascii.test(text)) return text.toLowerCase()
  return text.replace(/\p{Lu}/gu, (letter) => {
    const lower = letter.toLowerCase()
    return lower.length === letter.length ? lower : letter
  })
}
