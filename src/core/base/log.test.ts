import { expect, test, vi } from 'vitest'
import { createLog, lineWriterOf } from './log.ts'

function capture(level: 'info' | 'warn') {
  const lines: string[] = []
  const log = createLog(level, { write: (line) => void lines.push(line), dropped: 0, onDropped: () => {} })
  return { log, lines, write: lineWriterOf(log) as NonNullable<ReturnType<typeof lineWriterOf>> }
}

test('writes serialized fields as the same line that the log writes', () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  try {
    const { log, lines, write } = capture('info')
    const fields = { path: '/a"b\\c\u0001é', status: 200, ms: 0.02 }
    log.info(fields, 'request')
    write(JSON.stringify(fields).slice(1, -1), 'request')
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
  expect(lines).toEqual([])
  log.level = 'info'
  write('"status":200', 'request')
  expect(lines).toHaveLength(1)
})
