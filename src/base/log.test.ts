import { expect, test, vi } from 'vitest'
import { createLog, lineWriterOf } from './log.ts'

function capture(level: 'info' | 'warn') {
  const lines: string[] = []
  const log = createLog(level, { write: (line) => lines.push(line) })
  return { log, lines, write: lineWriterOf(log) as NonNullable<ReturnType<typeof lineWriterOf>> }
}

test('a line whose fields are written by hand is the one that the log writes', () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  try {
    const { log, lines, write } = capture('info')
    for (const at of ['2026-02-03T04:05:06.007Z', '2026-02-03T04:05:06.070Z', '2026-12-31T23:59:59.999Z']) {
      vi.setSystemTime(new Date(at))
      const path = '/a"b\\c\u0001é'
      log.info({ path, status: 200, ms: 0.02 }, 'request')
      write(`"path":${JSON.stringify(path)},"status":200,"ms":0.02`, 'request')
      const [usual, byHand] = lines.splice(0)
      expect(byHand).toBe(usual)
      expect(JSON.parse(byHand ?? '')).toEqual({
        level: 30,
        time: at,
        path,
        status: 200,
        ms: 0.02,
        msg: 'request',
      })
    }
  } finally {
    vi.useRealTimers()
  }
})

test('what the level leaves out is not written by hand either', () => {
  const { log, lines, write } = capture('warn')
  write('"status":200', 'request')
  expect(lines).toEqual([])
  log.level = 'info'
  write('"status":200', 'request')
  expect(lines).toHaveLength(1)
})
