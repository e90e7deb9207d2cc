import { expect, test, vi } from 'vitest'
import { createLog, lineWriterOf } from './log.ts'

function capture(level: 'info' | 'warn') {
  const lines: string[] = []
  const log = createLog(level, { write: (line) => lines.push(line) })
  return { log, lines, write: lineWriterOf(log) as NonNullable<ReturnType<typeof lineWriterOf>> }
}

test('writes serialized fields as the same line that the log writes', () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  try {
    const { log, lines, write } = capture('info')
    const fields = { path: '/a"b\\c\u0001é', status: 200, ms: 0.02 }
    log.info(fields, 'request')
    write(JSON.stringify(fields).slice(1, -1), 'request')
    log.flush()
    const [usual, serialized] = lines
    expect(serialized).toBe(usual)
    const time = new Date().toISOString()
    expect(JSON.parse(serialized ?? '')).toEqual({ level: 30, time, ...fields, msg: 'request' })
  } finally {
    vi.useRealTimers()
  }
})

test('writes no line below the log level', () => {
  const { log, lines, write } = capture('warn')
  write('"status":200', 'request')
  log.flush()
  expect(lines).toEqual([])
  log.level = 'info'
  write('"status":200', 'request')
  log.flush()
  expect(lines).toHaveLength(1)
})

test('writes serialized lines together, and before any other line', () => {
  const { log, lines, write } = capture('info')
  for (let status = 0; status < 3; status++) write(`"status":${status}`, 'request')
  expect(lines).toEqual([])
  log.info('next')
  expect(lines.map((text) => text.match(/"status":\d|next/g))).toEqual([
    ['"status":0', '"status":1', '"status":2'],
    ['next'],
  ])
  write(`"text":"${'x'.repeat(10_000)}"`, 'request')
  expect(lines).toHaveLength(3)
})

test('writes a serialized line without waiting for the next one', async () => {
  const { lines, write } = capture('info')
  write('"status":200', 'request')
  await vi.waitFor(() => expect(lines).toHaveLength(1))
})

test('the output is flushed once after lines, and never without any', () => {
  vi.useFakeTimers()
  try {
    const flush = vi.fn()
    const log = createLog('info', { write: () => {}, flush })
    vi.advanceTimersByTime(1_000)
    expect(flush).not.toHaveBeenCalled()
    log.info('one')
    log.info('two')
    vi.advanceTimersByTime(10_000)
    expect(flush).toHaveBeenCalledTimes(1)
  } finally {
    vi.useRealTimers()
  }
})
