import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { scratchDirectory } from '../../test/support/scratch.ts'
import { describeFileProblem } from './file-problem.ts'
import { newProjectFiles } from './new-workspace.ts'
import { NoProject, readProject } from './workspace.ts'

const id = '11111111-2222-4333-8444-555555555555'

function projectOf(files: Record<string, string | Buffer>) {
  const directory = scratchDirectory()
  onTestFinished(() => directory.remove())
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory.path, file)), { recursive: true })
    writeFileSync(join(directory.path, file), content)
  }
  return readProject(directory.path)
}

const told = (files: Record<string, string | Buffer>) => projectOf(files).problems.map(describeFileProblem)
const endpoint = (own = id) => `/*\nid: ${own}\n*/\nSELECT 1 AS n`
const oneTest = (name: string, more = '') =>
  `endpoint: ${name}\nnow: 2026-01-01T00:00:00Z\ntests:\n  - name: a\n    rows: []\n${more}`

describe('readProject', () => {
  test('a new project has nothing to mend, and the one that is shipped has not', () => {
    const fresh = projectOf(newProjectFiles(id))
    expect(fresh.problems).toEqual([])
    expect(fresh.endpoints.map(({ definition }) => definition.name)).toEqual(['requests.by-status'])
    const shipped = readProject(new URL('../../shipped', import.meta.url).pathname)
    expect(shipped.problems).toEqual([])
    const names = shipped.endpoints.map(({ definition }) => definition.name)
    expect(names).toEqual([
      'functions.invocation-stats',
      'logs.all',
      'usage.api-counts',
      'wellhead.endpoint-stats',
      'wellhead.top-callers',
    ])
    expect(shipped.tests.map(({ tests }) => tests[0]?.endpoint)).toEqual(names)
  })

  test('own sources can have fixtures, and sets of fixtures lie in directories', () => {
    const { problems, fixtures, sources } = projectOf({
      'endpoints/a.sql': endpoint(),
      'sources/orders.yaml': 'description: Orders.\n',
      'sources/plain.yaml': '# Nothing to say.\n',
      'fixtures/orders.ndjson': '{"timestamp":1767225600}\n',
      'fixtures/busy/plain.ndjson': '{"timestamp":1767225600}\n{"timestamp":1767225601}\n',
      'fixtures/notes.txt': 'x',
      'tests/a.yaml': oneTest('a', '    fixtures: [busy, default]\n'),
      'tests/.hidden.yaml': 'x',
    })
    expect(problems).toEqual([])
    expect(sources.map(({ source }) => [source.name, source.description])).toEqual([
      ['orders', 'Orders.'],
      ['plain', ''],
    ])
    expect([...fixtures].map(([set, files]) => [set, ...files.map(({ lines }) => lines.length)])).toEqual([
      ['default', 1],
      ['busy', 2],
    ])
  })

  test('every problem of every file is told, in the order of files and lines', () => {
    expect(
      told({
        'endpoints/a.sql': endpoint(),
        'endpoints/b.sql': endpoint(),
        'endpoints/c.sql': 'SELECT 1',
        'endpoints/d.sql': Buffer.from([0xff, 0xfe]),
        'endpoints/e.sql': `/*\nid: ${id.replace('1', '2')}\nparameters:\n  p: { typ: integer }\n*/\nSELECT 1`,
        'sources/edge_logs.yaml': '',
        'sources/Orders.yaml': '',
        'sources/own.yaml': 'retention: 3\n',
        'fixtures/nothing.ndjson': '',
        'fixtures/default/edge_logs.ndjson': '',
        'fixtures/edge_logs.ndjson': '{"timestamp":1767225600}\n{}\n',
        'tests/a.yaml': oneTest('gone', '  - name: b\n    fixtures: quiet\n'),
        'tests/c.yaml': oneTest('c'),
      }),
    ).toEqual([
      'endpoints/b.sql:1:1: id is that of endpoints/a.sql: each endpoint needs one of its own.',
      'endpoints/c.sql:1:1: The header is missing. Start the file with a comment /* … */ that contains the settings.',
      'endpoints/d.sql:1:1: The file is not valid UTF-8.',
      'endpoints/e.sql:4:8: Unknown field "parameters.p.typ".',
      'fixtures/default:1:1: The set default is what lies in fixtures itself.',
      'fixtures/edge_logs.ndjson:2:1: The entry is refused: it has no timestamp, and a test must not depend on when it runs.',
      'fixtures/nothing.ndjson:1:1: nothing is no source. One of your own is declared in sources/nothing.yaml.',
      'sources/Orders.yaml:1:1: The name of a source must be lowercase letters, digits and _, beginning with a letter, at most 64.',
      'sources/edge_logs.yaml:1:1: The source edge_logs is there in every service, and is not declared.',
      'sources/own.yaml:1:1: retention is no field that is known here.',
      'tests/a.yaml:1:1: There is no endpoints/gone.sql.',
      'tests/a.yaml:7:5: There is no directory fixtures/quiet.',
    ])
  })

  test('a directory without endpoints is no project', () => {
    expect(() => projectOf({ 'README.md': '' })).toThrow(NoProject)
    expect(() => readProject('/nowhere/at/all')).toThrow(NoProject)
    expect(told({ 'endpoints/.gitkeep': '' })).toEqual([])
  })
})
