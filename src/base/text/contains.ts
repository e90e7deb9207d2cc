/** For longer texts, the time of `includes` can be the product of both lengths. */
const surelyQuick = 250

/** `text.includes(wanted)` in linear time, by the algorithm of Knuth, Morris and Pratt. */
export function contains(text: string, wanted: string): boolean {
  if (wanted.length <= surelyQuick) return text.includes(wanted)
  // Where to go on if the next character differs: the longest start of `wanted` that ends here.
  const fallbacks = new Uint32Array(wanted.length)
  for (let at = 1, matched = 0; at < wanted.length; at++) {
    matched = extended(wanted, fallbacks, matched, wanted.charCodeAt(at))
    fallbacks[at] = matched
  }
  for (let at = 0, matched = 0; at < text.length; at++) {
    matched = extended(wanted, fallbacks, matched, text.charCodeAt(at))
    if (matched === wanted.length) return true
  }
  return false
}

function extended(wanted: string, fallbacks: Uint32Array, before: number, code: number): number {
  let matched = before
  while (matched > 0 && wanted.charCodeAt(matched) !== code) matched = fallbacks[matched - 1] as number
  return wanted.charCodeAt(matched) === code ? matched + 1 : matched
}
