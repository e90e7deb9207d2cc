import { expect, test } from 'vitest'
import { exportWarnings } from './export-warnings.ts'

test('failed exports are told once a minute, without their stack', () => {
  const lines: object[] = []
  let nowMs = 0
  const say = exportWarnings({ warn: (fields: object) => void lines.push(fields) } as never, () => nowMs)
  const failure = {
    stack: 'Error: Not Found\n    at x',
    message: 'Not Found',
    name: 'OTLPExporterError',
    code: '404',
  }
  say(JSON.stringify(failure))
  for (let i = 0; i < 5; i++) say('again')
  nowMs += 60_000
  say(`gone\n    at ${'x'.repeat(1_000)}`)
  nowMs += 60_000
  say('y'.repeat(1_000))
  expect(lines).toEqual([
    { reason: 'OTLPExporterError 404 Not Found' },
    { reason: 'gone', unsaid: 5 },
    { reason: 'y'.repeat(300) },
  ])
})
