import { lowerCase } from '../../base/text/lower-case.ts'
import { metadataText } from './metadata-text.ts'
import { type FieldTest, numberPattern } from './parse-query.ts'
import type { SearchCondition } from './search-condition.ts'
import type { SearchField } from './search-field.ts'

/** An entry as it was stored. */
export interface StoredEntry {
  readonly project: string
  readonly id: string
  readonly event_message: string
  /** As JSON. */
  readonly metadata: string
}

/** Decides like the SQL of the condition, for entries that no query reads. */
export function matches(entry: StoredEntry, condition: SearchCondition): boolean {
  switch (condition.kind) {
    case 'and':
      return condition.parts.every((part) => matches(entry, part))
    case 'or':
      return condition.parts.some((part) => matches(entry, part))
    case 'not':
      return !matches(entry, condition.part)
    case 'test':
      return isMet(textOf(entry, condition.field), condition.test, condition.field)
  }
}

function textOf(entry: StoredEntry, field: SearchField): string | undefined {
  return field.kind === 'own' ? entry[field.column] : metadataText(entry.metadata, field.keys)
}

function isMet(text: string | undefined, test: FieldTest, field: SearchField): boolean {
  if (text === undefined) return false
  switch (test.is) {
    case 'exists':
      return field.kind === 'typed' && field.type === 'number' ? numberOf(text) !== undefined : text !== ''
    case 'eq':
      return text === test.value
    case 'prefix':
      return text.startsWith(test.value)
    case 'suffix':
      return text.endsWith(test.value)
    case 'contains':
      return lowerCase(text).includes(lowerCase(test.value))
    case 'number': {
      const number = numberOf(text)
      if (number === undefined) return false
      const { min, max } = test
      if (min && (min.inclusive ? number < min.value : number <= min.value)) return false
      return !(max && (max.inclusive ? number > max.value : number >= max.value))
    }
  }
}

function numberOf(text: string): number | undefined {
  const number = numberPattern.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}
