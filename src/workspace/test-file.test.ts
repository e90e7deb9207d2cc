import { describe, expect, test } from 'vitest'
import { describeFileProblem } from './file-problem.ts'
import { readTestFile } from './test-file.ts'

function read(...lines: string[]) {
  const reading = readTestFile('tests/usage.yaml', lines.join('\n'))
  if ('problems' in reading) throw new Error(reading.problems.map(describeFileProblem).join('\n'))
  return reading.tests
}

function problems(...lines: string[]): string[] {
  const reading = readTestFile('tests/usage.yaml', lines.join('\n'))
  return 'problems' in reading ? reading.problems.map(describeFileProblem) : []
}

describe('readTestFile', () => {
  test('reads what a test says, and what the file says for all of them', () => {
    const tests = read(
      'endpoint: usage',
      'now: 2026-01-02T03:04:05Z',
      'fixtures: busy',
      'tests:',
      '  - name: first',
      '    parameters: { hours: 3, on: true, project: abc }',
      '    rows: [{ n: 1 }]',
      '  - name: second',
      '    now: 2026-01-02T03:04:05.678+01:00',
      '    fixtures: [quiet, default]',
      '    token: { project: abc }',
      '    status: 400',
    )
    const common = { file: 'tests/usage.yaml', endpoint: 'usage' }
    const none = { rows: undefined, rowCount: undefined, status: undefined, code: undefined }
    expect(tests).toEqual([
      {
        ...common,
        line: 5,
        column: 5,
        index: 0,
        name: 'first',
        nowMs: Date.UTC(2026, 0, 2, 3, 4, 5),
        fixtures: ['busy'],
        parameters: { hours: '3', on: 'true', project: 'abc' },
        token: undefined,
        expected: { ...none, rows: [{ n: 1 }] },
      },
      {
        ...common,
        line: 8,
        column: 5,
        index: 1,
        name: 'second',
        nowMs: Date.UTC(2026, 0, 2, 2, 4, 5, 678),
        fixtures: ['quiet', 'default'],
        parameters: {},
        token: { project: 'abc' },
        expected: { ...none, status: 400 },
      },
    ])
  })

  test('tells every problem at its place', () => {
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
      'tests/usage.yaml:2:1: now must be a date and time in ISO 8601, such as 2026-01-02T03:04:05Z.',
      'tests/usage.yaml:3:1: colour is no field that is known here.',
      'tests/usage.yaml:6:5: tests.1.paramters is no field that is known here.',
      'tests/usage.yaml:7:5: tests.1.rows must be a list of rows.',
      'tests/usage.yaml:8:5: tests.2.name is missing.',
      'tests/usage.yaml:8:28: tests.parameters.version would be read as 1.1: put 1.10 in quotes.',
      'tests/usage.yaml:8:34: tests.2.parameters._format must not begin with _: such names are those of the service.',
      'tests/usage.yaml:9:5: tests.2.status must be a status such as 400.',
    ])
  })

  test('a test says what time it is, has a name of its own, and expects rows or an error', () => {
    const head = ['endpoint: usage', 'tests:']
    expect(problems(...head, '  - { name: a, rows: [] }')).toEqual([
      'tests/usage.yaml:3:5: tests.1.now is missing, here and above: a test has to say what time it is.',
    ])
    const now = 'now: 2026-01-02T00:00:00Z'
    expect(problems(...head, `  - { name: a, ${now} }`, `  - { name: a, ${now} }`)).toEqual([
      'tests/usage.yaml:4:7: tests.2.name is there twice.',
    ])
    expect(problems(...head, `  - { name: a, ${now}, rows: [], code: invalid_parameter }`)).toEqual([
      expect.stringMatching(/:3:\d+: tests.1.rows cannot be given where an error is expected\.$/),
    ])
    expect(problems(...head, '  - { name: a, now: "2026-01-02T00:00:00.000001Z" }')).toEqual([
      expect.stringMatching(/:3:\d+: tests.1.now must not be finer than a millisecond\.$/),
    ])
  })

  test.each([
    ['', 'must be a list of fields, such as "endpoint: usage.api-counts".'],
    ['endpoint: [', 'cannot be read as YAML'],
    ['a: 1\na: 2', 'cannot be read as YAML: Map keys must be unique.'],
    ['a: *x', 'cannot be read as YAML'],
  ])('%j is told as no file of tests', (content, message) => {
    expect(problems(content)[0]).toMatch(/^tests\/usage\.yaml:\d+:\d+: The file /)
    expect(problems(content)[0]).toContain(message)
  })
})
