import { countedLength } from '../../shared/counted-values.ts'
import { finiteNumber, textAtPath } from '../engine/tables.ts'
import { containsSql, foldCase, type WordReads, wordSql } from '../sql/word.ts'
import {
  type FieldTest,
  isNumeric,
  isStatus,
  type SearchCondition,
  type SearchField,
} from './search-condition.ts'

export type BoundValues = Record<string, string | number>

/** The SQL of a word: conditions by what is read; or the function of SQL that stands for it. */
export type WordsAs = WordReads | 'functions'

/** A condition of a WHERE clause that is never null. Values are added to the parameters, which must be used with it. */
export function conditionSql(
  condition: SearchCondition,
  values: BoundValues,
  words: WordsAs = 'index',
): string {
  const joined = (parts: readonly SearchCondition[], by: string) =>
    parts.map((part) => `(${conditionSql(part, values, words)})`).join(by)
  const bind = (text: string) => bound(text, values)
  switch (condition.kind) {
    case 'and':
      return joined(condition.parts, ' AND ') || '1'
    case 'or':
      return joined(condition.parts, ' OR ') || '0'
    case 'not':
      return `NOT (${conditionSql(condition.part, values, words)})`
    case 'test':
      return testSql(condition.field, condition.test, values)
    case 'word':
      return words === 'functions'
        ? `matches(${bind(condition.value)})`
        : wordSql({ value: condition.value, bind }, '', words)
  }
}

function bound(value: string | number, values: BoundValues): string {
  const name = `query${Object.keys(values).length}`
  values[name] = value
  return `{${name}:${typeof value === 'number' ? 'Float64' : 'String'}}`
}

function testSql(field: SearchField, test: FieldTest, values: BoundValues): string {
  switch (test.is) {
    case 'exists':
      return isNumeric(field) ? `isNotNull(${columnSql(field)})` : `${present(field)} != ''`
    case 'eq': {
      // A text column is empty also where there is no value.
      if (test.value === '' && field.kind === 'typed') return `ifNull(${textAtPath(field.keys)} = '', 0)`
      const equal = `${columnSql(field)} = ${bound(test.value, values)}`
      return field.kind === 'path' ? `ifNull(${equal}, 0)` : equal
    }
    case 'prefix':
      return `startsWith(${present(field)}, ${bound(test.value, values)})`
    case 'suffix':
      return `endsWith(${present(field)}, ${bound(test.value, values)})`
    case 'contains': {
      const folded = foldCase(test.value)
      return containsSql(present(field), bound(folded, values), folded)
    }
    case 'number': {
      const number = isNumeric(field) ? columnSql(field) : finiteNumber(columnSql(field))
      const { min, max } = test
      const terms = [
        ...(min ? [`${number} >${min.inclusive ? '=' : ''} ${bound(min.value, values)}`] : []),
        ...(max ? [`${number} <${max.inclusive ? '=' : ''} ${bound(max.value, values)}`] : []),
      ]
      return `ifNull(${terms.join(' AND ')}, 0)`
    }
  }
}

/** Text, or a number in a column of numbers. Null if there is no value, but empty in a column of text. */
function columnSql(field: SearchField): string {
  if (field.kind === 'own') return field.column
  return field.kind === 'typed' ? `\`${field.column}\`` : textAtPath(field.keys)
}

/** Text; empty if there is no value. */
export function present(field: SearchField): string {
  const column = columnSql(field)
  if (isNumeric(field)) return `ifNull(toString(${column}), '')`
  return field.kind === 'path' ? `ifNull(${column}, '')` : column
}

/**
 * How entries are counted by a field: the column to group by, and what is shown of a group, whose column has this name. Status codes
 * are shown in groups such as 5xx. Empty if there is no value.
 */
export function counted(field: SearchField, name: string): { raw: string; shown: string } {
  const raw = columnSql(field)
  if (isStatus(field)) {
    const group = `if(${name} >= 100 AND ${name} < 600, concat(toString(floor(${name} / 100)), 'xx'), toString(${name}))`
    return { raw, shown: `ifNull(${group}, '')` }
  }
  return { raw, shown: `substringUTF8(ifNull(toString(${name}), ''), 1, ${countedLength})` }
}
