import { expect, test } from 'vitest'
import { after, fieldsOf } from './read-chunks.ts'

const text = (...lines: string[]) => Buffer.from(lines.map((line) => `${line}\n`).join(''))

test('continues after the rows that have the last key', () => {
  const first = after(text('a\t1\tx', 'b\t1\tx', 'b\t1\ty'), 2, undefined)
  expect([first.key.toString(), first.skip]).toEqual(['b\t1', 2])
  const same = after(text('b\t1\tz', 'b\t1\tz'), 2, first)
  expect([same.key.toString(), same.skip]).toEqual(['b\t1', 4])
  const next = after(text('b\t1\tz', 'b\t10\tz'), 2, same)
  expect([next.key.toString(), next.skip]).toEqual(['b\t10', 1])
})

test('does not mistake the start of a value for the value', () => {
  const { key, skip } = after(text('ab\t1', 'a\t1'), 1, undefined)
  expect([key.toString(), skip]).toEqual(['a', 1])
})

test('keeps empty keys', () => {
  expect(after(text('\t1', '\t2'), 1, undefined)).toEqual({ key: Buffer.alloc(0), skip: 2 })
})

test('unescapes fields to their bytes', () => {
  const line = Buffer.concat([
    Buffer.from("a\\tb\\\\n\\'\\0\t"),
    Buffer.from([0xff, 0xc3]),
    Buffer.from('\t'),
  ])
  expect(fieldsOf(line)).toEqual([Buffer.from("a\tb\\n'\0"), Buffer.from([0xff, 0xc3]), Buffer.alloc(0)])
})
