import { describe, expect, test } from 'vitest'
import { isSlower } from '../../../torture/load/longest-delay.ts'
import { testShortForms } from '../../../torture/support/short-form.ts'
import { leakedProjects, projects, secretOf } from '../access/ways-to-read.ts'

testShortForms('test/journeys/operating/torture-load.test.ts')

test('a load counts as slower if every round of it is, and not if other work slows some of both', () => {
  expect(isSlower([400, 380, 2_000], [20, 15, 25])).toBe(true)
  expect(isSlower([400, 380, 30], [20, 15, 25])).toBe(false)
  expect(isSlower([900, 700, 1_100], [800, 1_300, 850])).toBe(false)
})

describe('the check for rows of others', () => {
  const changes: Record<string, (text: string) => string> = {
    nothing: (text) => text,
    'small letters': (text) => text.toLowerCase(),
    'capital letters': (text) => text.toUpperCase(),
    'no letters': (text) => text.replace(/\p{L}/gu, ''),
    'a cut beginning': (text) => text.slice(10),
    'the reverse order': (text) => [...text].reverse().join(''),
    'an error that quotes it': (text) => JSON.stringify({ error: { message: `Cannot parse '${text}'` } }),
  }

  test.each(Object.keys(changes))("finds others' secrets and not one's own, with %s", (change) => {
    for (const owner of projects) {
      const text = (changes[change] as (text: string) => string)(secretOf(owner))
      for (const reader of projects) {
        expect(leakedProjects(text, reader)).toEqual(reader === owner ? [] : [owner])
      }
    }
  })
})
