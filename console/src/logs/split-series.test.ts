import { expect, test } from 'vitest'
import { seriesCondition, seriesOf } from './split-series.ts'

const bucket = (counts: Record<string, number>) => ({ timestamp: 0, count: 0, counts })

test('puts failures at the bottom and colors statuses and levels by what they mean', () => {
  const statuses = seriesOf([
    bucket({ '2xx': 5, '…': 9, '1xx': 1, '': 1 }),
    bucket({ '2xx': 5, '4xx': 1, '5xx': 2 }),
  ])
  expect(statuses.map(({ name, tone, total }) => `${name} ${tone} ${total}`)).toEqual([
    '5xx bad 2',
    '4xx warn 1',
    '2xx good 10',
    '1xx series-3 1',
    '… other 9',
    ' none 1',
  ])
  const levels = seriesOf([bucket({ INFO: 9, warning: 1, fatal: 1, '': 1 })])
  expect(levels.map(({ name, tone }) => `${name} ${tone}`)).toEqual([
    'fatal bad',
    'warning warn',
    'INFO good',
    ' none',
  ])
})

test('names the numbers of levels, and only those', () => {
  const counts = bucket({ 50: 1, 30: 5, 'an error': 2 })
  const texts = (by: string) => seriesOf([counts], by).map(({ text, tone }) => `${text} ${tone}`)
  expect(texts('level')).toEqual(['50 error bad', '30 info good', 'an error series-2'])
  expect(texts('port')).toEqual(['30 series-1', 'an error series-2', '50 series-3'])
})

test('colors other values by frequency', () => {
  expect(seriesOf([bucket({ GET: 1, POST: 5 })])).toEqual([
    { name: 'POST', text: 'POST', tone: 'series-1', total: 5 },
    { name: 'GET', text: 'GET', tone: 'series-2', total: 1 },
  ])
})

test('finds the entries of a series', () => {
  const found = ['5xx', 'two words', '', '…'].map((name) => seriesCondition('status_code', name))
  expect(found).toEqual(['status_code:5xx', 'status_code:"two words"', '-status_code:*', undefined])
  expect(seriesCondition('%cpu', '')).toBe('-"%cpu":*')
})
