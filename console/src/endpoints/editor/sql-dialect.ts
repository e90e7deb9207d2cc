import type { Completion } from '@codemirror/autocomplete'
import { SQLDialect } from '@codemirror/lang-sql'
import { functions, keywords, types } from './sql-words.ts'

const trueCase = new Map([...functions, ...types.split(' ')].map((name) => [name.toLowerCase(), name]))
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

/** Keywords in capitals, everything else in the case that the engine requires. */
export function wordCompletion(label: string, type: string): Completion {
  if (type === 'keyword') return { label: label.toUpperCase(), type, boost: -1 }
  return {
    label: trueCase.get(label.toLowerCase()) ?? label.toLowerCase(),
    type: type === 'type' ? 'type' : 'function',
  }
}

/** A path of metadata in SQL. Keys that are not plain words are quoted. */
export function metadataColumn(path: string): string {
  const quoted = (key: string) => `\`${key.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``
  return ['metadata', ...path.split('.').map((key) => (/^[A-Za-z_]\w*$/.test(key) ? key : quoted(key)))].join(
    '.',
  )
}
