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

/** A JSON array of the entries in lines, one in each line. */
export function arrayOfLines(lines: Buffer): Buffer {
  return Buffer.from(`[\n${lines.toString().trimEnd().replaceAll('\n', ',\n')}\n]\n`)
}
