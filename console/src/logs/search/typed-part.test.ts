import { expect, test } from 'vitest'
import { matching, typedPartAt, withStatusGroups } from './typed-part.ts'

test.each([
  ['|', 'undefined ""'],
  ['sta|', 'undefined "sta"'],
  ['one -sta|', 'undefined "sta"'],
  ['status:|', 'status ""'],
  ['x status:5|00 y', 'status "5"'],
  ['status:>=5|', 'status "5"'],
  ['(a OR status:5|', 'status "5"'],
  ['method:(GET OR P|', 'method "P"'],
  ['method:(GET OR POST) P|', 'undefined "P"'],
  ['msg:"two wo|', 'msg "two wo"'],
  ['"odd key":x|', 'odd key "x"'],
  ['"a phrase of wo|', 'nothing'],
  ['https://exam|', 'nothing'],
])('finds what is typed in %s', (marked, expected) => {
  const caret = marked.indexOf('|')
  const part = typedPartAt(marked.replace('|', ''), caret)
  expect(part ? `${part.field} "${part.text}"` : 'nothing').toBe(expected)
})

test('replaces the whole word under the caret, without its sign', () => {
  expect(typedPartAt('a -status:>=500 b', 13)).toMatchObject({ from: 12, to: 15 })
  expect(typedPartAt('a -stat b', 5)).toMatchObject({ from: 3, to: 7 })
})

test('offers groups of status codes before the codes', () => {
  const codes = ['200', '404', '503', '500'].map((value, index) => ({ value, count: 4 - index }))
  const groups = [
    { value: '2xx', count: 4 },
    { value: '4xx', count: 3 },
    { value: '5xx', count: 3 },
  ]
  expect(withStatusGroups('status_code', codes)).toEqual([...groups, ...codes])
  expect(withStatusGroups('duration_ms', codes)).toEqual(codes)
  const texts = [...codes, { value: 'ok', count: 1 }]
  expect(withStatusGroups('status', texts)).toEqual(texts)
  expect(withStatusGroups('status', [])).toEqual([])
})

test('lists prefixes before other matches, and nothing for a complete name', () => {
  const names = ['request.method', 'method', 'Message', 'status']
  expect(matching(names, 'me', (one) => one)).toEqual(['method', 'Message', 'request.method'])
  expect(matching(names, 'status', (one) => one)).toEqual([])
})
