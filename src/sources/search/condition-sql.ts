import { finiteNumber, searchedText, textAtPath } from '../../catalog/tables.ts'
import { sqlText } from '../../sql/names.ts'
import {
  type FieldTest,
  isNumeric,
  isStatus,
  numberPattern,
  type SearchCondition,
  type SearchField,
} from './search-condition.ts'
import { jsonScalar, neededTexts } from './word.ts'

export type BoundValues = Record<string, string | number>

/** A condition of a WHERE clause that is never null. Values are added to the parameters, which must be used with it. */
export function conditionSql(condition: SearchCondition, values: BoundValues): string {
  switch (condition.kind) {
    case 'and':
      return joined(condition.parts, ' AND ', '1', values)
    case 'or':
      return joined(condition.parts, ' OR ', '0', values)
    case 'not':
      return `NOT (${conditionSql(condition.part, values)})`
    case 'test':
      return testSql(condition.field, condition.test, values)
    case 'word':
      return wordSql(condition.value, values)
  }
}

/** The first condition is one that the index of words understands; parsing JSON text is left to few entries. */
function wordSql(value: string, values: BoundValues): string {
  const word = bound(value, values)
  const [piece, ...escapes] = neededTexts(value)
  const needed =
    piece === undefined
      ? ''
      : `multiSearchAny(${searchedText}, [${[bound(piece, values), ...escapes.map(sqlText)].join(', ')}]) AND `
  const isText = `positionCaseInsensitiveUTF8(JSONExtractString(value), ${word}) > 0`
  const isNumber = numberPattern.test(value) ? ` OR value = ${word}` : ''
  const texts = `extractAll(metadata, ${sqlText(jsonScalar.source)})`
  return (
    `${needed}(positionCaseInsensitiveUTF8(event_message, ${word}) > 0 OR ` +
    `arrayExists(value -> NOT endsWith(value, ':') AND (startsWith(value, '"') AND ${isText}${isNumber}), ${texts}))`
  )
}

function bound(value: string | number, values: BoundValues): string {
  const name = `query${Object.keys(values).length}`
  values[name] = value
  return `{${name}:${typeof value === 'number' ? 'Float64' : 'String'}}`
}

function joined(parts: readonly SearchCondition[], by: string, none: string, values: BoundValues): string {
  return parts.length === 0 ? none : parts.map((part) => `(${conditionSql(part, values)})`).join(by)
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
    case 'contains':
      return `positionCaseInsensitiveUTF8(${present(field)}, ${bound(test.value, values)}) > 0`
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

/** By which values entries are counted; status codes in groups such as 5xx. Empty if there is no value. */
export function groupSql(field: SearchField): string {
  if (!isStatus(field)) return `substringUTF8(${present(field)}, 1, 100)`
  const column = columnSql(field)
  const group = `if(${column} >= 100 AND ${column} < 600, concat(toString(floor(${column} / 100)), 'xx'), toString(${column}))`
  return `ifNull(${group}, '')`
}
