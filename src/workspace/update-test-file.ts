import { type Document, isMap, type Node, type Pair, YAMLMap } from 'yaml'
import type { TestFile } from './test-file.ts'

export interface Update {
  index: number
  rows: readonly Record<string, unknown>[]
}

/** The text of a file of tests with other expected rows. Everything else means the same, comments and order included. */
export function updatedText({ yaml, tests }: TestFile, text: string, updates: readonly Update[]): string {
  const { document } = yaml
  for (const { index, rows } of updates) {
    const counts = tests[index]?.expected.rowCount !== undefined
    if (counts) document.setIn(['tests', index, 'row_count'], rows.length)
    else replaceRows(document, ['tests', index, 'rows'], rows)
  }
  // Lists that begin at the very left of their key stay there.
  const indentSeq = !/^tests:[^\n]*\n(?:\s*(?:#[^\n]*)?\n)*- /m.test(text)
  return document.toString({ lineWidth: 0, indentSeq })
}

/** A row a line. Comments before and behind the rows belong to them, and stay. */
function replaceRows(document: Document, path: readonly (string | number)[], rows: Update['rows']): void {
  const node = document.createNode(rows) as Node & { items: Node[]; flow?: boolean }
  if (rows.length === 0) node.flow = true
  for (const row of node.items) if (isMap(row)) row.flow = true
  const before = document.getIn(path, true) as Node | undefined
  if (before?.commentBefore) node.commentBefore = before.commentBefore
  if (before?.comment) node.comment = before.comment
  const test = document.getIn(path.slice(0, -1), true)
  const pair = test instanceof YAMLMap ? findPair(test, 'rows') : undefined
  if (pair) pair.value = node
  else document.setIn(path, node)
}

function findPair(map: YAMLMap, key: string): Pair | undefined {
  return map.items.find((item) => String(item.key) === key)
}
