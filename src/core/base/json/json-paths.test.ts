import { expect, test } from 'vitest'
import { JsonPaths, pathName, valueText } from './json-paths.ts'
import { JsonScanner } from './json-scanner.ts'

function textsAt(paths: JsonPaths, json: string): Record<string, string | undefined> {
  const bytes = Buffer.from(json)
  const spans = [...paths.locate(new JsonScanner(bytes))]
  return Object.fromEntries(spans.map(([name, span]) => [name, valueText(bytes.toString('utf8', ...span))]))
}

test('locates the values of all paths in one pass', () => {
  const paths = new JsonPaths()
  const wanted = [['a'], ['a', 'b'], ['a', 'b', 'c'], ['d.e', 'ü'], ['none'], ['a', '__proto__']]
  for (const keys of wanted) paths.add(keys)
  const json =
    ' {"x":{"a":1}, "\\u0061": {"b":{"c":[1, 2]},"b":{"c":3},"__proto__":"p"},"a":4,"d.e":{"ü":null}}'
  expect(textsAt(paths, json)).toEqual({
    [pathName(['a'])]: '{"b":{"c":[1,2]},"b":{"c":3},"__proto__":"p"}',
    [pathName(['a', 'b'])]: '{"c":[1,2]}',
    [pathName(['a', 'b', 'c'])]: '[1,2]',
    [pathName(['a', '__proto__'])]: 'p',
    [pathName(['d.e', 'ü'])]: undefined,
  })
})

test('forgets a path when its last reader leaves', () => {
  const paths = new JsonPaths()
  for (const keys of [['a'], ['a', 'b'], ['a', 'b']]) paths.add(keys)
  const json = '{"a":{"b":1}}'
  paths.remove(['a', 'b'])
  paths.remove(['a'])
  expect(textsAt(paths, json)).toEqual({ [pathName(['a', 'b'])]: '1' })
  paths.remove(['a', 'b'])
  expect(textsAt(paths, json)).toEqual({})
})

test('writes long containers as the engine does', () => {
  const long = 10_000
  const json = `[ ${'-0, 1.50, 12, "\\u0041\\/\\"\\\\", '.repeat(long)}1e21 ]`
  expect(valueText(json)).toBe(`[${'0,1.5,12,"A/\\"\\\\",'.repeat(long)}1e21]`)
  for (const same of [`["${'\\\\'.repeat(long)}"]`, `[${'1'.repeat(long)}]`]) {
    expect(valueText(same)).toBe(same)
  }
})
