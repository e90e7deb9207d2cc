import { expect, test } from 'vitest'
import { matches } from './condition-match.ts'
import { metadataText } from './metadata-text.ts'
import { readQuery } from './search-condition.ts'

test('reads each value of an entry once for all conditions and queries', () => {
  let reads = 0
  const entry = {
    project: '',
    id: '',
    event_message: '',
    get metadata() {
      reads++
      return '{"a":[1,2],"b":"Text"}'
    },
  }
  const conditions = Array.from({ length: 10 }, (_, n) => `a:*x${n}* OR b:y${n} OR c:${n}`).join(' OR ')
  for (const query of [conditions, `${conditions} OR b:*TEXT*`, 'a:"[1,2]"']) {
    expect(matches(entry, readQuery(query, []))).toBe(query !== conditions)
  }
  expect(reads).toBe(3)
})

test('writes long containers as the engine does', () => {
  const long = 10_000
  const json = `{"a": [ ${'-0, 1.50, 12, "\\u0041\\/\\"\\\\", '.repeat(long)}1e21 ] }`
  expect(metadataText(json, ['a'])).toBe(`[${'0,1.5,12,"A/\\"\\\\",'.repeat(long)}1e21]`)
  for (const same of [`["${'\\\\'.repeat(long)}"]`, `[${'1'.repeat(long)}]`]) {
    expect(metadataText(`{"a":${same}}`, ['a'])).toBe(same)
  }
})
