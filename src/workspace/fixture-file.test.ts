import { expect, test } from 'vitest'
import { readFixtureFile } from './fixture-file.ts'

const read = (...lines: string[]) =>
  readFixtureFile('fixtures/edge_logs.ndjson', 'edge_logs', lines.join('\n'))

test('entries become the lines that are stored, with the id of their line where they have none', () => {
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

test('what the intake would reject, or what depends on the time of loading, is told at its line', () => {
  const reading = read(
    '{"a":',
    '{"timestamp":"2026-01-01T00:00:00Z"}',
    '[]',
    '{"message":"x"}',
    '{"timestamp":"soon"}',
  )
  expect('problems' in reading && reading.problems.map(({ line, message }) => `${line} ${message}`)).toEqual([
    '1 The entry is refused: the line is not valid JSON.',
    '3 The entry is refused: an entry must be a JSON object.',
    '4 The entry is refused: it has no timestamp, and a test must not depend on when it runs.',
    '5 The entry is refused: timestamp must be ISO 8601 or a Unix time in s, ms, µs or ns.',
  ])
})
