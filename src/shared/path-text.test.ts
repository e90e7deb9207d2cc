import fc from 'fast-check'
import { expect, test } from 'vitest'
import { keysOf, pathOf, shownPath } from './path-text.ts'

test.each([
  ['a.b', ['a', 'b'], 'a.b'],
  ['attributes.http%2Eroute', ['attributes', 'http.route'], 'attributes."http.route"'],
  ['attributes."http.route"', ['attributes', 'http.route'], 'attributes."http.route"'],
  ['"a.b"', ['a.b'], '"a.b"'],
  ['a."say \\"x\\"".c', ['a', 'say "x"', 'c'], 'a."say \\"x\\"".c'],
  ['odd key.x', ['odd key', 'x'], '"odd key".x'],
])('reads %s', (path, keys, shown) => {
  expect([keysOf(path), shownPath(path)]).toEqual([keys, shown])
})

test.each([
  ['', ['']],
  ['a..b', ['a', '', 'b']],
  ['a.', ['a', '']],
  ['a."b', ['a', '"b']],
])('keeps empty and unclosed keys of %j, which are refused', (path, keys) => {
  expect(keysOf(path)).toEqual(keys)
})

test('the form that people read means the same path', () => {
  const key = fc.string({ minLength: 1, unit: fc.constantFrom('a', 'Z', '.', '"', '\\', ' ', '_', 'é', ':') })
  const isPlain = (keys: string[]) => keys.every((each) => !each.startsWith('"'))
  fc.assert(
    fc.property(fc.array(key, { minLength: 1, maxLength: 4 }).filter(isPlain), (keys) => {
      expect(keysOf(pathOf(keys))).toEqual(keys)
      expect(keysOf(shownPath(pathOf(keys)))).toEqual(keys)
    }),
  )
})
