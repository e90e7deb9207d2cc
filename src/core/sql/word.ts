import { sqlText } from './names.ts'

/** Letters that are the same without letter case, though the engine writes them differently in lower case. */
const sameLetters = [
  { from: 'ς', to: 'σ' },
  // The lower case of İ is two letters. As one, it is no i: the index of words has it as it was sent.
  { from: 'i\u0307', to: 'İ' },
] as const

/** A text without letter case, for searches in the engine and live ones. */
export function foldCase(text: string): string {
  return sameLetters.reduce((lower, { from, to }) => lower.replaceAll(from, to), text.toLowerCase())
}

/** The same in SQL. Leaves out what cannot matter if only this folded text is looked for. */
function foldedSql(text: string, wanted?: string): string {
  return sameLetters
    .filter(({ from, to }) => wanted === undefined || [...from, to].some((letter) => wanted.includes(letter)))
    .reduce((sql, { from, to }) => `replaceAll(${sql}, '${from}', '${to}')`, `lowerUTF8(${text})`)
}

/** Whether a text contains another one, of which the SQL is that of the folded text. Letter case does not matter. */
export function containsSql(text: string, sql: string, folded?: string): string {
  return `position(${foldedSql(text, folded)}, ${sql}) > 0`
}

export const numberPattern = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i

/** The number that a text is; undefined if it is none, or too large. */
export function numberOf(text: string): number | undefined {
  const number = numberPattern.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

/** Texts, keys with their colon, and numbers in JSON without spaces. A text without its end cannot occur, but takes no longer. */
export const jsonScalar = /"(?:[^"\\]|\\.)*"?:?|-?[0-9][0-9.eE+-]*/

/**
 * What words find in an entry, in lower case: the message and the texts of metadata without their escapes, but also its numbers,
 * `true`, `false` and `null`. The index of words is over this expression, so a change of it needs another name of the index.
 */
export function searchedText(table = ''): string {
  const metadata = `${table}metadata`
  // Afterwards, every quote begins or ends a text.
  const backslashes = `replaceAll(${metadata}, ${sqlText('\\\\')}, ${sqlText('\\u005c')})`
  const quoted = `replaceAll(${backslashes}, ${sqlText('\\"')}, ${sqlText('\\u0022')})`
  // A text that begins with a colon looks like the end of a key. A pattern that reads all texts in order takes much longer.
  const isRare = `multiSearchAny(${metadata}, ['[":', ',":', '{":', ':":'])`
  const withoutKeys = [
    `replaceRegexpAll(if(${isRare}, '', ${quoted}), '"[^"]*":', ' ')`,
    `replaceRegexpAll(if(${isRare}, ${quoted}, ''), '"[^"]*":|"([^"]*)"', ${sqlText(' \\1 ')})`,
  ].join(', ')
  // All of them are read as one text.
  const texts = `JSONExtractString(concat('"', replaceAll(concat(${withoutKeys}), '"', ' '), '"'))`
  return foldedSql(`concat(${table}event_message, '\\n', ${texts})`)
}

/** What the index of words has as one token: ASCII letters and digits, and all letters that are not ASCII. */
const tokens = /[a-z0-9\u0080-\u{10ffff}]+/gu

/** What the searched text has of numbers and constants, which are no texts. */
const otherTokens = /^[0-9e]+$/
const constants = ['true', 'false', 'null']

/** Tokens that are looked up before entries are parsed. More of them seldom leave fewer entries. */
const maxNeededTokens = 2

/** The longest tokens of a folded word, and whether all entries that have them in their searched text have the word. */
export function neededTokens(folded: string): { needed: string[]; isCertain: boolean } {
  const found: string[] = folded.match(tokens) ?? []
  const isOther = otherTokens.test(folded) || constants.some((constant) => constant.includes(folded))
  const isCertain = found[0] === folded && !isOther
  const longest = found.toSorted((one, other) => other.length - one.length)
  return { needed: longest.slice(0, maxNeededTokens), isCertain }
}

/** Letters that no other letter folds to, unlike k, to which the Kelvin sign does. */
const plainPieces = /[a-jl-z0-9]{2,}/g

/** A condition that every entry with the word meets, and that costs less than reading its texts. */
function quickCheck(folded: string, table: string, bind: (text: string) => string): string[] {
  const pieces: string[] = folded.match(plainPieces) ?? []
  const [longest] = pieces.toSorted((one, other) => other.length - one.length)
  if (longest === undefined) return []
  // A sender can escape any letter.
  const either = [longest, '\\u'].map(bind).join(', ')
  return [`multiSearchAny(lower(concat(${table}event_message, '\\n', ${table}metadata)), [${either}])`]
}

/** A word with the function that puts a text into the statement, or one that only the engine knows, such as a parameter. */
export type SearchedWord = { value: string; bind: (text: string) => string } | { sql: string }

/** Where a word is looked for: in the index, in all entries, or in the few that were already found with it. */
export type WordReads = 'index' | 'entries' | 'few'

/** Whether the message or a text in metadata contains the word, or a number in metadata is written so. */
export function wordSql(word: SearchedWord, table = '', reads: WordReads = 'index'): string {
  if ('sql' in word) {
    const isNumber = `match(${word.sql}, ${sqlText(`(?i)${numberPattern.source}`)}) AND value = ${word.sql}`
    return anyText(table, (text) => containsSql(text, foldedSql(word.sql)), isNumber)
  }
  const { value, bind } = word
  const folded = foldCase(value)
  const { needed, isCertain } = neededTokens(folded)
  const inText = needed.map((token) => `${searchedText(table)} LIKE ${bind(`%${token}%`)}`)
  const quick = reads === 'entries' ? quickCheck(folded, table, bind) : []
  if (isCertain && reads !== 'few') return [...quick, ...inText].join(' AND ')
  const wanted = bind(folded)
  const isNumber = numberPattern.test(value) ? `value = ${bind(value)}` : '0'
  const found = anyText(table, (text) => containsSql(text, wanted, folded), isNumber)
  // The index of words answers these conditions; parsing JSON text is left to few entries.
  return [...(reads === 'index' ? inText : quick), found].join(' AND ')
}

function anyText(table: string, isFound: (text: string) => string, isNumber: string): string {
  const isText = `startsWith(value, '"') AND ${isFound('JSONExtractString(value)')}`
  const scalars = `extractAll(${table}metadata, ${sqlText(jsonScalar.source)})`
  return (
    `(${isFound(`${table}event_message`)} OR ` +
    `arrayExists(value -> NOT endsWith(value, ':') AND (${isText} OR ${isNumber}), ${scalars}))`
  )
}
