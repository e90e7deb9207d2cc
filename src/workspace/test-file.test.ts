import { describe, expect, test } from 'vitest'
import { describeFinding } from '../core/base/files/file-problem.ts'
import { readTestFile, updateRows } from './test-file.ts'

function read(...lines: string[]) {
  const reading = readTestFile('tests/usage.yaml', lines.join('\n'))
  if ('problems' in reading) throw new Error(reading.problems.map(describeFinding).join('\n'))
  return reading.tests
}

function problems(...lines: string[]): string[] {
  const reading = readTestFile('tests/usage.yaml', lines.join('\n'))
  return 'problems' in reading ? reading.problems.map(describeFinding) : []
}

describe('readTestFile', () => {
  test('reads the fields of each test and the defaults of the file', () => {
    const tests = read(
      'endpoint: usage',
      'now: 2026-01-02T03:04:05Z',
      'tests:',
      '  - name: first',
      '    parameters: { hours: 3, on: true, project: abc }',
      '    rows: [{ n: 1 }]',
      '  - name: second',
      '    now: 2026-01-02T03:04:05.678+01:00',
      '    token: { project: abc }',
      '    status: 400',
    )
    const common = { file: 'tests/usage.yaml', endpoint: 'usage', column: 5 }
    expect(tests).toEqual([
      {
        ...{ ...common, line: 4, index: 0, name: 'first', nowMs: Date.UTC(2026, 0, 2, 3, 4, 5) },
        ...{ parameters: { hours: '3', on: 'true', project: 'abc' }, rows: [{ n: 1 }] },
      },
      {
        ...{ ...common, line: 7, index: 1, name: 'second', nowMs: Date.UTC(2026, 0, 2, 2, 4, 5, 678) },
        ...{ now: '2026-01-02T03:04:05.678+01:00', parameters: {} },
        ...{ token: { project: 'abc' }, status: 400 },
      },
    ])
  })

  test('reports all problems together, each with its position', () => {
    expect(
      problems(
        'endpoint: usage',
        'now: yesterday',
        'colour: red',
        'tests:',
        '  - name: a',
        '    paramters: { x: 1 }',
        '    rows: 7',
        '  - parameters: { version: 1.10, _format: csv }',
        '    status: 99',
      ),
    ).toEqual([
      'tests/usage.yaml:2:1: now must be an ISO 8601 date and time, such as 2026-01-31T12:00:00Z.',
      'tests/usage.yaml:3:1: Unknown field "colour".',
      'tests/usage.yaml:6:5: Unknown field "tests.1.paramters". Did you mean parameters?',
      'tests/usage.yaml:7:5: tests.1.rows must be a list of rows.',
      'tests/usage.yaml:8:5: tests.2.name is missing.',
      'tests/usage.yaml:8:28: tests.parameters.version would be read as 1.1: put 1.10 in quotes.',
      'tests/usage.yaml:8:34: tests.2.parameters._format must not start with _: such names are reserved.',
      'tests/usage.yaml:9:5: tests.2.status must be a status code such as 400.',
    ])
  })

  test('requires a time, a unique name, and either rows or an error', () => {
    const head = ['endpoint: usage', 'tests:']
    expect(problems(...head, '  - { name: a, rows: [] }')).toEqual([
      'tests/usage.yaml:3:5: tests.1.now is missing: set it here or for the whole file.',
    ])
    const now = 'now: 2026-01-02T00:00:00Z'
    expect(problems(...head, `  - { name: a, ${now} }`, `  - { name: a, ${now} }`)).toEqual([
      'tests/usage.yaml:4:7: tests.2.name is used twice.',
    ])
    expect(problems(...head, `  - { name: a, ${now}, rows: [], code: invalid_parameter }`)).toEqual([
      expect.stringMatching(/:3:\d+: tests.1.rows cannot be combined with an expected error\.$/),
    ])
    expect(problems(...head, '  - { name: a, now: "2026-01-02T00:00:00.000001Z" }')).toEqual([
      expect.stringMatching(/:3:\d+: tests.1.now must not be more precise than a millisecond\.$/),
    ])
  })

  test.each([
    ['', 'must be a list of fields, such as "endpoint: usage.api-counts".'],
    ['endpoint: [', 'cannot be read as YAML'],
    ['a: 1\na: 2', 'cannot be read as YAML: Map keys must be unique.'],
    ['a: *x', 'cannot be read as YAML'],
  ])('reports that %j is not a test file', (content, message) => {
    expect(problems(content)[0]).toMatch(/^tests\/usage\.yaml:\d+:\d+: The file /)
    expect(problems(content)[0]).toContain(message)
  })
})

describe('updateRows', () => {
  function updated(text: string, ...updates: Parameters<typeof updateRows>[2]): string {
    const reading = readTestFile('tests/a.yaml', text)
    if ('problems' in reading) throw new Error(JSON.stringify(reading.problems))
    return updateRows(reading, text, updates)
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

  test('changes only the rows and keeps comments, order, quotes and empty lines', () => {
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

  test('keeps lists that are not indented, and writes rows that read back unchanged', () => {
    const flat = 'endpoint: usage\nnow: 2026-01-02T03:04:05Z\ntests:\n- name: a\n  rows: []\n'
    const once = updated(flat, { index: 0, rows: [{ s: 'yes: no # x', n: 1e21, empty: '' }] })
    expect(once).toContain('\n- name: a\n')
    const reading = readTestFile('tests/a.yaml', once)
    expect('tests' in reading && reading.tests[0]?.rows).toEqual([{ s: 'yes: no # x', n: 1e21, empty: '' }])
    expect(updated(once, { index: 0, rows: [{ s: 'yes: no # x', n: 1e21, empty: '' }] })).toBe(once)
  })
})
