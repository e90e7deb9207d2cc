import { describe, expect, test } from 'vitest'
import { conditions } from '../../../torture/scenarios/conditions.ts'
import { functions } from '../../../torture/scenarios/functions.ts'
import { fuzzLogflare } from '../../../torture/scenarios/fuzz/logflare.ts'
import { fuzzSql } from '../../../torture/scenarios/fuzz/sql.ts'
import { studio } from '../../../torture/scenarios/studio.ts'
import { testShortForms } from '../../../torture/support/short-form.ts'
import { leakedProjects, projects, secretOf } from '../access/ways-to-read.ts'

// Most of what lets one tenant read of another, or keep it waiting; `npm run torture` runs the others as well.
testShortForms('test/journeys/operating/torture-load.test.ts', [
  functions,
  conditions,
  fuzzSql,
  fuzzLogflare,
  studio,
])

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
