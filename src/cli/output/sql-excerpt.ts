import stringWidth from 'string-width'
import { cutToWidth } from './table.ts'
import { visible } from './visible.ts'

/** How much of a long line is shown before the position. */
const leadingCharacters = 40

/** The line of SQL with a mark under the column. Lines and columns count from 1. */
export function sqlExcerpt(
  sql: string,
  { line, column }: { line: number; column: number },
  width: number,
): string | undefined {
  const text = sql.split('\n')[line - 1]
  if (text === undefined) return undefined
  const number = `${line} | `
  const before = shown(text.slice(0, column - 1))
  const after = shown(text.slice(column - 1).trimEnd())
  const available = width - number.length
  const isLong = stringWidth(before) + stringWidth(after) > available
  const head = isLong && before.length > leadingCharacters ? `…${before.slice(-leadingCharacters)}` : before
  const margin = `${' '.repeat(number.length - 2)}| `
  return `${number}${cutToWidth(head + after, available)}\n${margin}${' '.repeat(stringWidth(head))}^`
}

/** One column per tab, so that the mark stays below its character. */
function shown(text: string): string {
  return visible(text.replaceAll('\t', ' '))
}
