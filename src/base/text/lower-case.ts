const ascii = /^[\0-\x7f]*$/
const upperCase = /\p{Lu}/u

/** Calling a function for each letter of a long text takes long, so the lower case of all letters is read from here. */
interface LowerCases {
  /** The lower case of letters that are one code unit. */
  units: Uint16Array
  /** The second code unit of upper-case letters that are two. The first one stays the same. */
  seconds: Map<number, number>
}

let lowerCases: LowerCases | undefined

function lowerLetter(code: number): string {
  const letter = String.fromCodePoint(code)
  const lower = upperCase.test(letter) ? letter.toLowerCase() : letter
  return lower.length === letter.length ? lower : letter
}

function readLowerCases(): LowerCases {
  const seconds = new Map<number, number>()
  // No script beyond the first supplementary plane has upper case.
  for (let code = 0x1_0000; code < 0x2_0000; code++) {
    const lower = lowerLetter(code)
    if (lower.codePointAt(0) !== code) seconds.set(code, lower.charCodeAt(1))
  }
  return {
    units: Uint16Array.from({ length: 0x1_0000 }, (_, unit) => lowerLetter(unit).charCodeAt(0)),
    seconds,
  }
}

/** Lower case as the engine sees it: letter by letter, so that a final sigma is not special and no letter becomes two. */
export function lowerCase(text: string): string {
  if (ascii.test(text)) return text.toLowerCase()
  lowerCases ??= readLowerCases()
  const { units, seconds } = lowerCases
  const lower = new Uint16Array(text.length)
  for (let at = 0; at < lower.length; at++) {
    const unit = text.charCodeAt(at)
    lower[at] = units[unit] as number
    if (unit < 0xdc00 || unit > 0xdfff || at === 0) continue
    const code = text.codePointAt(at - 1) as number
    lower[at] = seconds.get(code) ?? unit
  }
  return Buffer.from(lower.buffer).toString('utf16le')
}
