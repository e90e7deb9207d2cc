import { SQLDialect } from '@codemirror/lang-sql'
import { keysOf } from '../../../../src/shared/path-text.ts'
import { functions, keywords, types } from './sql-words.ts'

const known = new Set(keywords.split(' '))

export const clickhouse = SQLDialect.define({
  keywords,
  builtin: functions
    .map((name) => name.toLowerCase())
    .filter((name) => !known.has(name))
    .join(' '),
  types: types.toLowerCase(),
  operatorChars: '*+-%<>!=&|/~^',
  identifierQuotes: '`"',
  hashComments: true,
})

/** A path of metadata in SQL. Keys that are not plain words are quoted. */
export function metadataColumn(path: string): string {
  const quoted = (key: string) => `\`${key.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``
  return ['metadata', ...keysOf(path).map((key) => (/^[A-Za-z_]\w*$/.test(key) ? key : quoted(key)))].join(
    '.',
  )
}
