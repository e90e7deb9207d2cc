import { expect, test } from 'vitest'
import { corrected } from './corrections.ts'

const fields = ['region', 'status_code', 'res.statusCode', 'customer.id']

test.each([
  ['regoin:eu', 'region:eu'],
  ['-Region:eu timeout', '-region:eu timeout'],
  ['status>=500', 'status:>=500'],
  ['-regoin=5', '-region:5'],
  ['customer.ib:x', 'customer.id:x'],
])('%s is probably %s', (query, meant) => {
  expect(corrected(query, fields)).toBe(meant)
})

test.each([
  '',
  'timeout',
  'region:eu',
  'status:>=500',
  'id:x',
  'nothing.alike:1',
  'a OR regoin:eu',
  'x=y',
  '"a>=1"',
])('leaves %s', (query) => {
  expect(corrected(query, fields)).toBeUndefined()
})
