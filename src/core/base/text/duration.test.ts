import { expect, test } from 'vitest'
import { formatAge, formatDuration, parseDuration } from './duration.ts'

test.each([
  ['90s', 90, '90s'],
  ['60s', 60, '1m'],
  ['15m', 900, '15m'],
  ['90m', 5_400, '90m'],
  ['12h', 43_200, '12h'],
  ['24h', 86_400, '1d'],
  ['90d', 7_776_000, '90d'],
  ['2w', 1_209_600, '14d'],
  ['0s', 0, '0s'],
  ['0d', 0, '0s'],
])('reads %s as %d seconds, and writes them as %s', (text, seconds, written) => {
  expect(parseDuration(text)).toBe(seconds)
  expect(formatDuration(seconds)).toBe(written)
  expect(parseDuration(written)).toBe(seconds)
})

test.each(['', '5', 'm', '1.5h', '-1h', '1 h', '1H', '1y', '1h30m', '9999999999s', ' 1h'])(
  'does not read %j as a duration',
  (text) => {
    expect(parseDuration(text)).toBeUndefined()
  },
)

test.each([
  [0, '0s'],
  [119, '119s'],
  [120, '2m'],
  [3_725, '62m'],
  [7_200, '2h'],
  [100_000, '27h'],
  [200_000, '2d'],
])('shows an age of %d seconds as %s', (seconds, expected) => {
  expect(formatAge(seconds)).toBe(expected)
})
