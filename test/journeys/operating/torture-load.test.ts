import { describe, expect, test } from 'vitest'
import { leakedProjects } from '../../../torture/load/tenants.ts'
import { loadScenarios } from '../../../torture/load-scenarios.ts'
import { overload } from '../../../torture/scenarios/overload.ts'
import { soak } from '../../../torture/scenarios/soak.ts'
import { tenants } from '../../../torture/scenarios/tenants.ts'
import type { Scenario } from '../../../torture/support/scenario.ts'
import { testShortForms } from '../../../torture/support/short-form.ts'
import { projects, secretOf } from '../access/tenant-queries.ts'

// A short soak or overload says little, and tenants side by side are in the behavior of both engines.
const onlyLong: readonly Scenario[] = [soak, overload, tenants]

testShortForms(
  'test/journeys/operating/torture-load.test.ts',
  loadScenarios.filter((scenario) => !onlyLong.includes(scenario)),
)

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
