import { expect, test } from 'vitest'
import { manualClock } from '../../../../test/support/manual-clock.ts'
import { memoryIo, memoryOutput } from '../../../../test/support/memory-io.ts'
import { formatBytes, formatCount, plural } from './format.ts'
import { Progress } from './progress.ts'

const ioWith = (choices: { isTerminal?: boolean; columns?: number }) => {
  const clock = manualClock()
  return { ...memoryIo({ clock, stderr: memoryOutput(choices) }), clock }
}

test('counts on a terminal, at most every 100 ms, and removes the line', () => {
  const io = ioWith({ isTerminal: true, columns: 120 })
  const progress = new Progress('Sending', io)
  progress.totalBytes = 2048
  progress.add(0)
  io.clock.advance(50)
  progress.add(512)
  expect(io.stderr.text()).not.toContain('512')
  io.clock.advance(1950)
  progress.note = '3 entries stored'
  progress.add(512)
  expect(io.stderr.text()).toContain('\r\x1b[KSending: 1.0 KiB of 2.0 KiB, 3 entries stored')
  progress.end()
  expect(io.stderr.text().endsWith('\r\x1b[K')).toBe(true)
})

test('elsewhere writes a line every ten seconds, and none for a short job', () => {
  const io = ioWith({})
  const progress = new Progress('Sending', io)
  progress.add(5)
  io.clock.advance(9_999)
  progress.add(45)
  expect(io.stderr.text()).toBe('')
  io.clock.advance(1)
  progress.add(950)
  progress.end()
  expect(io.stderr.text()).toBe('Sending: 1000 B\n')
})

test('formats amounts for people', () => {
  const sizes = [0, 1023, 1024, 150 * 1024, 12 * 2 ** 20]
  expect(sizes.map(formatBytes)).toEqual(['0 B', '1023 B', '1.0 KiB', '150 KiB', '12.0 MiB'])
  expect(formatCount(1234567.4)).toBe('1,234,567')
  expect([plural(1, 'entry', 'entries'), plural(0, 'row')]).toEqual(['1 entry', '0 rows'])
})
