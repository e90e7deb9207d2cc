import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')

/** Every name that stands in a test file as the name of a test. */
function testNames(): string[] {
  const files = readdirSync(new URL('../../', import.meta.url), { recursive: true, encoding: 'utf8' })
  return files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [...read(`test/${file}`).matchAll(/\(\s*(?:'([^'\n]{12,})'|"([^"\n]{12,})")\s*,/g)])
    .map((match) => (match[1] ?? match[2]) as string)
}

function namedInPage(): string[] {
  return [...read('test/journeys/seed/README.md').matchAll(/^- `([^`]+)`/gm)].map(
    ([, name]) => name as string,
  )
}

test('every test that test/journeys/seed/README.md names is there', () => {
  const names = new Set(testNames())
  expect(namedInPage().length).toBeGreaterThan(40)
  expect(namedInPage().filter((name) => !names.has(name))).toEqual([])
})
