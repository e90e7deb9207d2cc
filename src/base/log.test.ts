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
      log.flush()
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
  log.flush()
  expect(lines).toEqual([])
  log.level = 'info'
  write('"status":200', 'request')
  log.flush()
  expect(lines).toHaveLength(1)
})

test('lines written by hand reach the output together, and before any other line', () => {
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

test('lines written by hand do not wait for a next one', async () => {
  const { lines, write } = capture('info')
  write('"status":200', 'request')
  await vi.waitFor(() => expect(lines).toHaveLength(1))
})
