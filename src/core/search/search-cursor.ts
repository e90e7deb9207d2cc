/** Where the next page of a search begins. */
export interface SearchCursor {
  /** In microseconds. */
  timestamp: number
  id: string
  /** Number of entries with this timestamp and id that were read already: senders choose ids, so they can repeat. */
  skip?: number | undefined
}

/** The cursor after a page; undefined if the page is empty. The cursor before the page counts entries of earlier ones. */
export function cursorAfter(page: readonly { timestamp: number; id: string }[], before?: SearchCursor) {
  const last = page.at(-1)
  if (last === undefined) return undefined
  const { timestamp, id } = last
  const isSame = (one: { timestamp: number; id: string }) => one.timestamp === timestamp && one.id === id
  const others = page.findLastIndex((one) => !isSame(one)) + 1
  const earlier = others === 0 && before !== undefined && isSame(before) ? (before.skip ?? 0) : 0
  return { timestamp, id, skip: earlier + page.length - others }
}

/** The cursor after the last of these lines of entries, as a text that nobody has to understand. */
export function nextPage(lines: Buffer, before: SearchCursor | undefined): string | undefined {
  const page: { timestamp: number; id: string }[] = []
  for (const line of lines.toString().trimEnd().split('\n')) {
    const [, id, timestamp] = /^\{"id":("(?:[^"\\]|\\.)*"),"timestamp":(-?\d+)/.exec(line) ?? []
    if (id !== undefined) page.push({ id: JSON.parse(id) as string, timestamp: Number(timestamp) })
  }
  const cursor = cursorAfter(page, before)
  return cursor && Buffer.from(JSON.stringify(cursor)).toString('base64url')
}

/** Undefined if the text is not one of `nextPage`. */
export function readNext(next: string): unknown {
  try {
    return JSON.parse(Buffer.from(next, 'base64url').toString())
  } catch {
    return undefined
  }
}

/** A JSON array of the entries in lines, one in each line. */
export function arrayOfLines(lines: Buffer): Buffer {
  return Buffer.from(`[\n${lines.toString().trimEnd().replaceAll('\n', ',\n')}\n]\n`)
}
