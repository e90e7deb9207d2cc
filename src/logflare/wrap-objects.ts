const [quote, backslash, openBrace, closeBrace, openBracket, closeBracket] = [
  0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d,
]

/** The response, its list and its rows. */
const outerLevels = 3

/**
 * Turns every object inside of a row into an array of one object, as BigQuery returns nested fields. Objects that are in
 * an array already stay as they are. Works on bytes, so that numbers keep all of their digits.
 */
export function wrapObjects(body: Buffer): Buffer {
  const pieces: Buffer[] = []
  /** What the open bracket of each level is. */
  const open: ('array' | 'object' | 'wrapped')[] = []
  let copied = 0
  const put = (until: number, text: string) => {
    pieces.push(body.subarray(copied, until), Buffer.from(text))
    copied = until
  }
  for (let at = 0; at < body.length; at++) {
    switch (body[at]) {
      case quote:
        at = stringEnd(body, at)
        break
      case openBracket:
        open.push('array')
        break
      case openBrace: {
        const isWrapped = open.length >= outerLevels && open.at(-1) !== 'array'
        open.push(isWrapped ? 'wrapped' : 'object')
        if (isWrapped) put(at, '[')
        break
      }
      case closeBracket:
        open.pop()
        break
      case closeBrace:
        if (open.pop() === 'wrapped') put(at + 1, ']')
        break
    }
  }
  return Buffer.concat([...pieces, body.subarray(copied)])
}

/** The position of the closing quote. */
function stringEnd(body: Buffer, start: number): number {
  for (let at = start + 1; at < body.length; at++) {
    if (body[at] === backslash) at++
    else if (body[at] === quote) return at
  }
  return body.length
}
