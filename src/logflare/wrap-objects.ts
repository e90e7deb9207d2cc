import { setImmediate as giveWay } from 'node:timers/promises'

/** The response, its list and its rows. */
const outerLevels = 3
/** Other requests get a turn after so much of a response, which can have many megabytes. */
const turnBytes = 128 * 1024

const [quote, backslash] = [0x22, 0x5c]
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/** What an open bracket is. */
const [list, object, wrappedObject] = [0, 1, 2]

/**
 * Turns every object inside of a row into an array of one object, as BigQuery returns nested fields. Objects that are in
 * an array already stay as they are. Works on the text, so that numbers keep all of their digits.
 */
export async function wrapObjects(body: Buffer): Promise<Buffer> {
  // A brace becomes at most two bytes.
  const wrapped = Buffer.allocUnsafe(2 * body.length)
  let progress = { at: 0, length: 0, isString: false, open: [] as number[] }
  while (progress.at < body.length) {
    progress = wrapPart(body, wrapped, progress)
    await giveWay()
  }
  return wrapped.subarray(0, progress.length)
}

function wrapPart(
  body: Buffer,
  wrapped: Buffer,
  { at, length, isString, open }: { at: number; length: number; isString: boolean; open: number[] },
) {
  const end = Math.min(at + turnBytes, body.length)
  for (; at < end; at++) {
    const byte = body[at] as number
    const isWrapped =
      byte === openObject && !isString && open.length >= outerLevels && open[open.length - 1] !== list
    if (isWrapped) wrapped[length++] = openList
    wrapped[length++] = byte
    if (byte === quote) isString = !isString
    else if (isString) {
      if (byte === backslash) wrapped[length++] = body[++at] as number
    } else if (byte === openObject) open.push(isWrapped ? wrappedObject : object)
    else if (byte === openList) open.push(list)
    else if ((byte === closeObject || byte === closeList) && open.pop() === wrappedObject)
      wrapped[length++] = closeList
  }
  return { at, length, isString, open }
}
