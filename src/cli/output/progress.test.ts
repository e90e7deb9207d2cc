import { expect, test } from 'vitest'
import { memoryOutput } from '../../../test/support/memory-io.ts'
import { manualClock } from '../../base/clock.ts'
import { formatBytes, formatCount, plural } from './format-amount.ts'
import { startProgress } from './progress.ts'

test('on a terminal a bar is drawn, not more often than anybody can see, and taken away', () => {
  const clock = manualClock()
  const output = memoryOutput({ isTerminal: true, columns: 120 })
  const progress = startProgress({ title: 'Sending', total: 2048, unit: 'bytes', output, clock })
  progress.update(0)
  clock.advance(50)
  progress.update(512)
  expect(output.text()).not.toContain('512')
  clock.advance(1950)
  progress.update(1024, '3 entries stored')
  expect(output.text()).toContain(
    '████████████░░░░░░░░░░░░ 1.0 KiB of 2.0 KiB, 50 %, 512 B/s, 3 entries stored',
  )
  progress.end()
  expect(output.text().endsWith('\r\x1b[K')).toBe(true)
})

test('elsewhere a line is written now and then, and none where it is quick', () => {
  const clock = manualClock()
  const output = memoryOutput()
  const progress = startProgress({ title: 'Sending', total: undefined, unit: 'count', output, clock })
  progress.update(5)
  clock.advance(9_999)
  progress.update(50)
  expect(output.text()).toBe('')
  clock.advance(1)
  progress.update(1_000)
  progress.end()
  expect(output.text()).toBe('Sending: 1,000, 100/s\n')
})

test('nothing to do is all done', () => {
  const output = memoryOutput({ isTerminal: true })
  startProgress({ title: 'x', total: 0, unit: 'bytes', output, clock: manualClock() }).update(0)
  expect(output.text()).toContain('100 %')
})

test('amounts are written for people', () => {
  expect([0, 1023, 1024, 150 * 1024, 12 * 2 ** 20].map(formatBytes)).toEqual([
    '0 B',
    '1023 B',
    '1.0 KiB',
    '150 KiB',
    '12.0 MiB',
  ])
  expect(formatCount(1234567.4)).toBe('1,234,567')
  expect([plural(1, 'entry', 'entries'), plural(0, 'row')]).toEqual(['1 entry', '0 rows'])
})
