import { lowerCase } from '../../base/text/lower-case.ts'
import type { StoredEntry } from '../../catalog/stored-entry.ts'
import { metadataText } from './metadata-text.ts'
import { type FieldTest, numberPattern } from './parse-query.ts'
import type { SearchCondition } from './search-condition.ts'
import type { SearchField } from './search-field.ts'

/** What queries have read of an entry. Many may read the same, and each reads in the event loop. */
const reads = new WeakMap<StoredEntry, { texts: Map<string, string | undefined>; length: number }>()
/** Values may contain each other, so that they are longer than the entry. */
const maxKept = { texts: 1_000, length: 2 ** 24 }

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
      return isMet(entry, condition.field, condition.test)
  }
}

function textOf(entry: StoredEntry, field: SearchField): string | undefined {
  if (field.kind === 'own') return entry[field.column]
  return once(entry, nameOf(field), () => metadataText(entry.metadata, field.keys))
}

function isMet(entry: StoredEntry, field: SearchField, test: FieldTest): boolean {
  const text = textOf(entry, field)
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
      return once(entry, `lower ${nameOf(field)}`, () => lowerCase(text)).includes(lowerCase(test.value))
    case 'number': {
      const number = numberOf(text)
      if (number === undefined) return false
      const { min, max } = test
      if (min && (min.inclusive ? number < min.value : number <= min.value)) return false
      return !(max && (max.inclusive ? number > max.value : number >= max.value))
    }
  }
}

function nameOf(field: SearchField): string {
  return field.kind === 'own' ? field.column : JSON.stringify(field.keys)
}

function once<Text extends string | undefined>(entry: StoredEntry, name: string, read: () => Text): Text {
  const known = reads.get(entry) ?? { texts: new Map<string, string | undefined>(), length: 0 }
  reads.set(entry, known)
  const { texts } = known
  if (texts.has(name)) return texts.get(name) as Text
  const text = read()
  if (texts.size < maxKept.texts && known.length < maxKept.length) {
    texts.set(name, text)
    known.length += text?.length ?? 0
  }
  return text
}

function numberOf(text: string): number | undefined {
  const number = numberPattern.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}
