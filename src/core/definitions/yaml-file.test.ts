import { expect, test } from 'vitest'
import { alerts } from '../../features/alerts/alert-kind.ts'
import { dashboards } from '../../features/dashboards/dashboard-kind.ts'
import { sources } from '../../features/sources/source-kind.ts'
import type { FileForm } from './kind.ts'

const [alertFiles, dashboardFiles, sourceFiles] = [alerts.file, dashboards.file, sources.file]

const read = (kind: FileForm, content: string) => {
  const reading = kind.read('x/shop.yaml', 'shop', content)
  if ('problems' in reading) throw new Error(reading.problems[0]?.message)
  return reading
}
const alert = 'description: |-\n  Two\n  lines.\nendpoint: orders\nwhen: rows > 0\n'

test.each([
  ['a source without fields', sourceFiles, ''],
  [
    'a source with columns',
    sourceFiles,
    'description: Of the shop.\nretention_days: 30\ncolumns:\n  - { name: "null", path: a-b.c, type: number }\n' +
      '  - { name: url, path: url, type: text, searched: true }\n',
  ],
  ['an alert', alertFiles, alert],
  [
    'an alert with durations',
    alertFiles,
    `${alert.replace('when', 'every: 5m\nwhen')}for: 90s\nrepeat: 1h\n`,
  ],
  ['an alert with targets', alertFiles, `${alert}notify:\n  - type: slack\n    url: https://example.com/x\n`],
  [
    'a dashboard',
    dashboardFiles,
    'title: Traffic\nparameters:\n  project: { required: true }\n  interval: { default: hourly, enum: [ hourly, daily ] }\nrows:\n  - items:\n      - { endpoint: orders, parameters: { project: "@project" }, chart: bars, title: Orders, width: 8 }\n      - markdown: |-\n          # Orders\n          By day.\n        width: 4\n',
  ],
])('reading and writing %s returns the same text', (_, kind, text) => {
  expect(kind.write(read(kind, text).fields)).toBe(text)
})

test('writes what a service returns without fields that have their defaults or that only the service sets', () => {
  const set = { id: '1', version: 2, updated_by: 'x', state: 'ok', muted_until: '2026-01-31T12:00:00Z' }
  const view = { ...set, name: 'errors', endpoint: 'orders', when: 'rows > 0', every_seconds: 60 }
  expect(alertFiles.write(alertFiles.fieldsOf(view))).toBe('endpoint: orders\nwhen: rows > 0\n')
})

test('reads durations and seconds, and reports durations that cannot be read', () => {
  expect(read(alertFiles, `${alert}every: 1m\nrepeat: none\n`).fields).toMatchObject({
    every_seconds: 60,
    repeat_seconds: null,
  })
  expect(read(alertFiles, `${alert}every_seconds: 90\n`).fields.every_seconds).toBe(90)
  for (const [text, message] of [
    ['every: 60', 'every must be a duration such as 900s, 15m or 1h.'],
    ['every: soon', 'every must be a duration such as 900s, 15m or 1h.'],
    ['every: 2d', 'every must be a whole number of seconds from 5 to 86400.'],
  ]) {
    expect(() => read(alertFiles, `${alert}${text}\n`)).toThrow(message)
  }
  const { positionOf } = read(alertFiles, `${alert}every: 1m\n`)
  expect(positionOf({ code: '', message: '', parameter: 'every_seconds' })).toEqual({ line: 6, column: 1 })
})

test('finds the position of a field that a service rejects', () => {
  const { positionOf } = read(alertFiles, `${alert}notify:\n  - type: slack\n    url: nowhere\n`)
  const at = (parameter?: string) => positionOf({ code: 'invalid_parameter', message: '', parameter })
  expect(at('when')).toEqual({ line: 5, column: 1 })
  expect(at('notify.0.url')).toEqual({ line: 8, column: 5 })
  expect(at()).toEqual({ line: 1, column: 1 })
})
