import { expect, test } from 'vitest'
import { readFixtureFile } from './fixture-file.ts'

const read = (...lines: string[]) =>
  readFixtureFile('fixtures/edge_logs.ndjson', 'edge_logs', lines.join('\n'))

test('reads entries as stored lines; an entry without an id gets one from its line number', () => {
  const reading = read(
    '{"timestamp":"2026-01-01T00:00:00Z","metadata":{"n":12345678901234567890}}',
    '',
    '{"id":"own","timestamp":1767225600}',
    '{"id":null,"timestamp":1767225600}',
    '',
  )
  const line = (id: string, metadata: string) =>
    `{"project":"","id":"${id}","timestamp":"1767225600.000000","event_message":"","metadata":${metadata}}\n`
  expect('lines' in reading && reading.lines.map(String)).toEqual([
    line('edge_logs-1', '{"n":12345678901234567890}'),
    line('own', '{}'),
    line('edge_logs-4', '{}'),
  ])
  expect(read('')).toMatchObject({ lines: [] })
})

test('reports entries that the intake would reject, and entries without a timestamp, with their line', () => {
  const reading = read(
    '{"a":',
    '{"timestamp":"2026-01-01T00:00:00Z"}',
    '[]',
    '{"message":"x"}',
    '{"timestamp":"soon"}',
  )
  expect('problems' in reading && reading.problems.map(({ line, message }) => `${line} ${message}`)).toEqual([
    '1 The entry would be rejected: the line is not valid JSON.',
    '3 The entry would be rejected: an entry must be a JSON object.',
    '4 The entry needs a timestamp.',
    '5 The entry would be rejected: timestamp must be ISO 8601 or a Unix time in s, ms, µs or ns.',
  ])
})

test('applies the rules of the source', () => {
  const rules = [{ drop: 'noise' }, { mask: ['email' as const] }]
  const entries = ['noise', 'ada@example.com'].map((event_message) =>
    JSON.stringify({ event_message, timestamp: '2026-01-01T00:00:00Z' }),
  )
  const read = readFixtureFile('fixtures/edge_logs.ndjson', 'edge_logs', entries.join('\n'), {
    ...{ rules, columns: [], project: null },
  })
  const lines = 'lines' in read ? read.lines.map((line) => JSON.parse(line.toString()).event_message) : read
  expect(lines).toEqual(['[email]'])
})
