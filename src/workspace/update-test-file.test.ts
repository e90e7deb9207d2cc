import { expect, test } from 'vitest'
import { readTestFile } from './test-file.ts'
import { type Update, updatedText } from './update-test-file.ts'

function updated(text: string, ...updates: Update[]): string {
  const reading = readTestFile('tests/a.yaml', text)
  if ('problems' in reading) throw new Error(JSON.stringify(reading.problems))
  return updatedText(reading, text, updates)
}

const text = `# What this is about.
endpoint: usage
now: 2026-01-02T03:04:05Z

tests:
  # The first one.
  - name: "first" # quoted
    parameters: { project: abc, hours: "1.10" }
    # As it was counted by hand.
    rows:
      - { n: 1 }

  - name: second
    row_count: 1
  - name: third
  - name: fourth
    rows: [{ n: 1 }] # stays
`

test('only the rows change; comments, order, quotes and empty lines stay', () => {
  const rows = [{ n: 2, text: '007', nested: { a: [1, null] } }, { n: 3 }]
  expect(updated(text, { index: 0, rows }, { index: 1, rows }, { index: 2, rows: [] })).toBe(
    text
      .replace(
        '      - { n: 1 }\n\n',
        '      - { n: 2, text: "007", nested: { a: [ 1, null ] } }\n      - { n: 3 }\n\n',
      )
      .replace('row_count: 1', 'row_count: 2')
      .replace('- name: third\n', '- name: third\n    rows: []\n')
      .replace('[{ n: 1 }] # stays', '[ { n: 1 } ] # stays'),
  )
})

test('lists that are not indented stay so, and what is written reads back', () => {
  const flat = 'endpoint: usage\nnow: 2026-01-02T03:04:05Z\ntests:\n- name: a\n  rows: []\n'
  const once = updated(flat, { index: 0, rows: [{ s: 'yes: no # x', n: 1e21, empty: '' }] })
  expect(once).toContain('\n- name: a\n')
  const reading = readTestFile('tests/a.yaml', once)
  expect('tests' in reading && reading.tests[0]?.expected.rows).toEqual([
    { s: 'yes: no # x', n: 1e21, empty: '' },
  ])
  expect(updated(once, { index: 0, rows: [{ s: 'yes: no # x', n: 1e21, empty: '' }] })).toBe(once)
})
