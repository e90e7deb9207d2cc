import { expect, test } from 'vitest'
import { TypeTeller } from './column-types.ts'

test.each([
  ['text', ['007', '1']],
  ['text', ['00']],
  ['text', ['+1']],
  ['text', ['1e5']],
  ['text', ['1,000']],
  ['text', [' 1']],
  ['text', ['1.']],
  ['text', ['1.2.3']],
  ['text', ['NaN', 'Infinity']],
  ['text', ['0x10']],
  ['text', ['9007199254740993']],
  ['text', ['12345678901234567890']],
  ['text', ['1.23456789012345678901']],
  ['text', ['true', '1']],
  ['text', ['yes', 'no']],
  ['text', ['2026-01-02T00:00:00Z', 'never']],
  ['text', ['2026-02-30']],
  ['text', ['2026-01']],
  ['text', ['1850-01-01T00:00:00Z']],
  ['text', [null, null]],
  ['text', ['', '1']],
  ['number', ['0', '-1.50', null]],
  ['number', ['9007199254740991', '-9007199254740991']],
  ['number', ['0', '1']],
  ['number', ['2026']],
  ['boolean', ['TRUE', 'false', null]],
  ['timestamp', ['2026-01-02', '2026-01-02 03:04:05', '2026-01-02T03:04:05.5+02:00']],
] as const)('%s is told from %j', (type, values) => {
  const teller = new TypeTeller(['a'])
  for (const value of values) teller.add([value])
  expect(teller.columns).toEqual([{ name: 'a', type }])
})

test('projects are text', () => {
  const teller = new TypeTeller(['project'])
  teller.add(['1'])
  expect(teller.columns).toEqual([{ name: 'project', type: 'text' }])
})
