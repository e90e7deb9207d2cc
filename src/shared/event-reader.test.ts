import { expect, test } from 'vitest'
import { eventReader } from './event-reader.ts'

test.each([1, 2, 3, 1000])('reads events from pieces of %i characters', (size) => {
  const text = ': hello\r\n\r\nevent: a\r\ndata: ü1\r\ndata:2\r\n\r\nid: 7\n\nretry: 500\n\ndata: cut'
  const read = eventReader()
  const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
  expect(pieces.flatMap(read)).toEqual([
    { event: '', id: undefined, data: '', retryMs: undefined },
    { event: 'a', id: undefined, data: 'ü1\n2', retryMs: undefined },
    { event: '', id: '7', data: '', retryMs: undefined },
    { event: '', id: undefined, data: '', retryMs: 500 },
  ])
})

test('refuses an event that is longer than the limit', () => {
  const read = eventReader(10)
  expect(read('data: 1234567890\n\ndata: 1')).toHaveLength(1)
  expect(() => read('2345')).toThrow('an event without an end')
})
