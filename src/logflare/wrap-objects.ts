/** The response, its list and its rows. */
const outerLevels = 3

/**
 * Turns every object inside of a row into an array of one object, as BigQuery returns nested fields. Objects that are in
 * an array already stay as they are. Works on the text, so that numbers keep all of their digits.
 */
export function wrapObjects(body: Buffer): Buffer {
  /** What closes each open bracket. */
  const open: string[] = []
  let isString = false
  const text = body.toString().replace(/\\.|["[\]{}]/g, (found) => {
    if (found === '"') isString = !isString
    if (isString || found === '"') return found
    if (found === ']' || found === '}') return open.pop() ?? found
    const isWrapped = found === '{' && open.length >= outerLevels && open.at(-1) !== ']'
    open.push(found === '[' ? ']' : isWrapped ? '}]' : '}')
    return isWrapped ? '[{' : found
  })
  return Buffer.from(text)
}
