/** A result as JSON texts: each row has one for each column, in the order of the columns. */
export interface ResultRows {
  columns: readonly string[]
  rows: readonly (readonly string[])[]
}

/** A value is undefined if the result does not have the column. */
type Row = readonly (string | undefined)[]

/** How the rows of one result differ from those of another. */
export interface RowDifference {
  changed: number
  added: number
  removed: number
  /** Whether rows that both results have are in another order. */
  reordered: boolean
  /** Columns with other values, and in how many of the changed rows. */
  columns: { name: string; changed: number }[]
  /** All columns of both results, which the rows of `examples` have. */
  names: string[]
  /** Some rows that differ. One side is undefined if the row was added or removed. */
  examples: { before: Row | undefined; after: Row | undefined }[]
}

const maxExamples = 5

export function isSame({ changed, added, removed, reordered }: RowDifference): boolean {
  return changed + added + removed === 0 && !reordered
}

export const noDifference: RowDifference = {
  changed: 0,
  added: 0,
  removed: 0,
  reordered: false,
  columns: [],
  names: [],
  examples: [],
}

/**
 * Compares two results. Equal rows are matched first. The others are matched by what identifies them, or by their
 * position if nothing does. The order of columns does not matter, because every format names them.
 */
export function rowDifference(before: ResultRows, after: ResultRows): RowDifference {
  // A result without rows does not tell its columns.
  const results = [before, after].filter(({ rows }) => rows.length > 0)
  const names = [...new Set(results.flatMap(({ columns }) => columns))]
  const shared = names.map((name) => results.every(({ columns }) => columns.includes(name)))
  const common = [...shared.keys()].filter((place) => shared[place])
  const [was, is] = [inOrder(before, names), inOrder(after, names)]
  const { matched, left, right, reordered } = matchEqual(was, is, common)
  const { paired, removed, added } = pairOthers(left, right, common)
  // A column that only one result has differs in every row.
  const pairs = common.length === names.length ? paired : [...matched, ...paired]
  const columns = names.flatMap((name, place) => {
    const changed = pairs.filter(([one, other]) => one[place] !== other[place]).length
    return changed > 0 ? [{ name, changed }] : []
  })
  const examples = [
    ...pairs.slice(0, maxExamples).map(([one, other]) => ({ before: one, after: other })),
    ...removed.slice(0, maxExamples).map((row) => ({ before: row, after: undefined })),
    ...added.slice(0, maxExamples).map((row) => ({ before: undefined, after: row })),
  ].slice(0, maxExamples)
  const counts = { changed: pairs.length, added: added.length, removed: removed.length }
  return { ...counts, reordered, columns, names, examples }
}

function inOrder({ columns, rows }: ResultRows, names: readonly string[]): Row[] {
  const places = names.map((name) => columns.indexOf(name))
  return rows.map((row) => places.map((place) => row[place]))
}

/** No JSON text contains a raw line break. */
const keyOf = (row: Row, places: readonly number[]) => places.map((place) => row[place]).join('\n')

type Pair = readonly [Row, Row]

/** Rows that are equal in these columns, each at most once. */
function matchEqual(was: readonly Row[], is: readonly Row[], places: readonly number[]) {
  const waiting = new Map<string, number[]>()
  for (const [index, row] of was.entries()) {
    const key = keyOf(row, places)
    const same = waiting.get(key)
    if (same) same.push(index)
    else waiting.set(key, [index])
  }
  for (const same of waiting.values()) same.reverse()
  const matched: Pair[] = []
  const right: Row[] = []
  const found = new Set<number>()
  let last = -1
  let reordered = false
  for (const row of is) {
    const index = waiting.get(keyOf(row, places))?.pop()
    if (index === undefined) {
      right.push(row)
      continue
    }
    matched.push([was[index] as Row, row])
    found.add(index)
    reordered ||= index < last
    last = index
  }
  return { matched, left: was.filter((_, index) => !found.has(index)), right, reordered }
}

/** Pairs the rows that differ: a pair is a changed row. */
function pairOthers(left: readonly Row[], right: readonly Row[], common: readonly number[]) {
  const identity = identityOf(left, right, common)
  if (identity === undefined) {
    const length = Math.min(left.length, right.length)
    const paired = left.slice(0, length).map((row, index): Pair => [row, right[index] as Row])
    return { paired, removed: left.slice(length), added: right.slice(length) }
  }
  const others = new Map(right.map((row) => [keyOf(row, identity), row]))
  const paired: Pair[] = []
  const removed: Row[] = []
  for (const row of left) {
    const key = keyOf(row, identity)
    const other = others.get(key)
    others.delete(key)
    if (other) paired.push([row, other])
    else removed.push(row)
  }
  return { paired, removed, added: [...others.values()] }
}

/** The first columns of a result usually say what a row is about. */
const maxIdentifying = 8

/**
 * The columns that identify a row: one column, or the first ones together, whose values are unique on both sides and
 * occur on both sides in at least half of the rows. Undefined if there are none.
 */
function identityOf(left: readonly Row[], right: readonly Row[], common: readonly number[]) {
  const first = common.slice(0, maxIdentifying)
  const candidates = [
    ...first.map((place) => [place]),
    ...first.slice(1).map((_, i) => first.slice(0, i + 2)),
  ]
  const length = Math.min(left.length, right.length)
  let best: { places: number[]; shared: number } | undefined
  for (const places of candidates) {
    const keys = new Set(left.map((row) => keyOf(row, places)))
    if (keys.size < left.length) continue
    const others = new Set(right.map((row) => keyOf(row, places)))
    if (others.size < right.length) continue
    const shared = [...others].filter((key) => keys.has(key)).length
    if (shared * 2 >= length && shared > (best?.shared ?? 0)) best = { places, shared }
    if (shared === length) break
  }
  return best?.places
}
