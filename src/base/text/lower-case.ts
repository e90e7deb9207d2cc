const ascii = /^[\0-\x7f]*$/
const upperCase = /\p{Lu}/u
/** Upper-case letters that take two code units. */
const longLetters = /[\u{10000}-\u{1ffff}]/gu

/** The lower case of each code unit, since calling a function for each letter of a long text takes long. */
let lowerUnits: Uint16Array | undefined

function lowerLetter(letter: string): string {
  const lower = upperCase.test(letter) ? letter.toLowerCase() : letter
  return lower.length === letter.length ? lower : letter
}

/**
 * Lower case as the engine's case-insensitive functions see it: character by character, so that a final sigma is not special.
 * A letter that becomes several characters stays as it is.
 */
export function lowerCase(text: string): string {
  if (ascii.test(text)) return text.toLowerCase()
  lowerUnits ??= Uint16Array.from({ length: 2 ** 16 }, (_, unit) =>
    lowerLetter(String.fromCharCode(unit)).charCodeAt(0),
  )
  const units = new Uint16Array(text.length)
  for (let at = 0; at < units.length; at++) units[at] = lowerUnits[text.charCodeAt(at)] as number
  const lower = Buffer.from(units.buffer).toString('utf16le')
  return lower.replace(longLetters, lowerLetter)
}
