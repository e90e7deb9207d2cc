import type { Query } from '../query.ts'
import { closingOf, identifierOf, isSymbol } from '../tokens.ts'
import type { Finding } from './warning.ts'

/** Functions that count bytes, and those that count characters, by their names in lower case. */
const cuts: Readonly<Record<string, string>> = {
  left: 'leftUTF8',
  right: 'rightUTF8',
  substring: 'substringUTF8',
  substr: 'substringUTF8',
  mid: 'substringUTF8',
  byteslice: 'substringUTF8',
  leftpad: 'leftPadUTF8',
  lpad: 'leftPadUTF8',
  rightpad: 'rightPadUTF8',
  rpad: 'rightPadUTF8',
}

const bytes =
  /^(?:md[45]|sha(?:1|224|256|384|512|512_256)|ripemd160|keccak256|hmac|siphash128\w*|murmurhash3_128|unhex|reinterpretasfixedstring|encrypt|aes_encrypt_mysql)$/

/** Functions whose texts have no other characters than those of ASCII. */
const asciiResult = /^(?:hex|bin|toString|formatDateTime|base64Encode|generateUUIDv[47])$/i

/** Selected texts that may not be UTF-8. */
export function textWarnings(query: Query): Finding[] {
  const { tokens } = query
  const finals = query.selects.filter(({ depth }) => depth === 0)
  const items = finals.flatMap((scope) => scope.items)
  return items.flatMap((item): Finding[] => {
    const { first, end } = query.aliasOf(item) ?? item
    const name = identifierOf(tokens[first])
    // Inside of another function, the bytes may not be returned.
    if (name === undefined || !isSymbol(tokens[first + 1], '(') || closingOf(tokens, first + 1) !== end - 1)
      return []
    const instead = cuts[name.toLowerCase()]
    if (instead !== undefined) {
      const of = tokens[first + 2]
      const isCall = isSymbol(tokens[first + 3], '(')
      const isPlain = isCall ? asciiResult.test(of?.text ?? '') : of?.text === 'id' || of?.kind === 'string'
      if (isPlain) return []
      const message = `${name} counts bytes and can cut a character in two, which then is U+FFFD. Use ${instead}, which counts characters.`
      return [{ code: 'bytes_as_text', message, at: first }]
    }
    if (!bytes.test(name.toLowerCase())) return []
    const message = `${name} returns bytes, and those that are not UTF-8 become U+FFFD. Use hex(${name}(…)) to return them as text.`
    return [{ code: 'bytes_as_text', message, at: first }]
  })
}
