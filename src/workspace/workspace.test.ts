import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { scratchDirectory } from '../../test/support/scratch.ts'
import { describeFinding } from '../core/base/files/file-problem.ts'
import { newSourceShape } from '../core/catalog/source.ts'
import { loadKinds } from '../kinds.ts'
import { newWorkspaceFiles, templates } from './authoring/new-workspace.ts'
import { type DefinitionFile, readWorkspace, writeMissingIds } from './workspace.ts'

await loadKinds()

const id = '11111111-2222-4333-8444-555555555555'

function directoryOf(files: Record<string, string | Buffer>): string {
  const directory = scratchDirectory()
  onTestFinished(() => directory.remove())
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory.path, file)), { recursive: true })
    writeFileSync(join(directory.path, file), content)
  }
  return directory.path
}

const workspaceOf = (files: Record<string, string | Buffer>) => readWorkspace(directoryOf(files))

const problemsOf = (files: Record<string, string | Buffer>) =>
  workspaceOf(files).problems.map(describeFinding)
const endpoint = (own = id) => `/*\nid: ${own}\n*/\nSELECT 1 AS n`
const oneTest = (name: string, more = '') =>
  `endpoint: ${name}\nnow: 2026-01-01T00:00:00Z\ntests:\n  - name: a\n    rows: []\n${more}`

test('docs/guides/workspaces.md lists the fields of a source', () => {
  const page = readFileSync(new URL('../../docs/guides/workspaces.md', import.meta.url), 'utf8')
  const [, section = ''] = /^## Sources\n(.*?)^## /ms.exec(page) ?? []
  const listed = [...section.matchAll(/^\| `(\w+)` /gm)].map(([, field]) => field)
  const { name: _, ...fields } = newSourceShape.shape
  expect(listed.sort()).toEqual(Object.keys(fields).sort())
})

describe('readWorkspace', () => {
  test('finds no problems in a new workspace and in the shipped one', () => {
    for (const template of templates) {
      expect(workspaceOf(newWorkspaceFiles(template, randomUUID)).problems).toEqual([])
    }
    const shipped = readWorkspace(new URL('../../shipped', import.meta.url).pathname)
    expect(shipped.problems).toEqual([])
    const names = shipped.definitions.map(({ fields }) => fields.name)
    expect(names).toEqual([
      'functions.invocation-stats',
      'logs.all',
      'usage.api-counts',
      'wellhead.endpoint-stats',
      'wellhead.top-callers',
    ])
    expect(shipped.tests.map(({ tests }) => tests[0]?.endpoint)).toEqual(names)
  })

  describe('with named targets', () => {
    const page =
      'oncall: { type: email, to: oncall@example.com }\nhook: { type: webhook, url: https://example.com }\n'
    const alert = (...targets: string[]) =>
      `endpoint: a\nwhen: rows > 0\nnotify:\n${targets.map((one) => `  - ${one}\n`).join('')}`
    const of = (notify: string, more: Record<string, string> = { 'targets.yaml': page }) => ({
      'endpoints/a.sql': endpoint(),
      'alerts/errors.yaml': notify,
      ...more,
    })

    test('alerts get the addresses, each once, and files keep the names', () => {
      const { problems, definitions, write } = workspaceOf(
        of(alert('target: hook', '{ type: email, to: oncall@example.com }', 'target: oncall')),
      )
      expect(problems).toEqual([])
      const { kind, fields } = definitions.find(({ kind: { name } }) => name === 'alert') as DefinitionFile
      expect(fields.notify).toEqual([
        { type: 'webhook', url: 'https://example.com' },
        { type: 'email', to: 'oncall@example.com' },
      ])
      expect(write({ kind, fields })).toContain('notify:\n  - target: hook\n  - target: oncall\n')
      expect(kind.file.write(fields)).toContain('url: https://example.com')
    })

    test('another file replaces the addresses', () => {
      const directory = directoryOf(of(alert('target: oncall'), { 'targets.yaml': page }))
      writeFileSync(
        join(directory, 'staging.yaml'),
        'oncall: { type: slack, url: https://example.com/staging }\n',
      )
      const { definitions } = readWorkspace(directory, { targets: 'staging.yaml' })
      expect(definitions.find(({ file }) => file === 'alerts/errors.yaml')?.fields.notify).toEqual([
        { type: 'slack', url: 'https://example.com/staging' },
      ])
      expect(readWorkspace(directory, { targets: 'absent.yaml' }).problems).toMatchObject([
        { file: 'absent.yaml', message: expect.stringContaining('Cannot read the file') },
      ])
    })

    test.each([
      [
        'target: onkall',
        page,
        'alerts/errors.yaml:4:5: targets.yaml has no target "onkall". Did you mean oncall?',
      ],
      ['target: constructor', page, 'alerts/errors.yaml:4:5: targets.yaml has no target "constructor".'],
      [
        'target: oncall',
        '',
        'targets.yaml:1:1: The file must be a list of fields, such as "oncall: { type: email, to: oncall@example.com }".',
      ],
      ['target: oncall', 'oncall: { type: email }\n', 'targets.yaml:1:1: oncall.to is required.'],
      [
        '{ target: oncall, url: https://example.com }',
        page,
        'alerts/errors.yaml:4:23: Unknown field "notify.1.url".',
      ],
      ['type: email', page, 'alerts/errors.yaml:4:5: notify.1.to is required.'],
    ])('reports %s', (target, targets, problem) => {
      expect(problemsOf(of(alert(target), { 'targets.yaml': targets }))).toEqual([problem])
    })

    test('says so if there is no file', () => {
      expect(problemsOf(of(alert('{ type: email, to: a@example.com }', 'target: oncall'), {}))).toEqual([
        'alerts/errors.yaml:5:5: There is no targets.yaml. Create it, with the target "oncall".',
      ])
    })
  })

  test('fixtures get the project from the path that their source names, also by an alias', () => {
    const entry = '{"timestamp":1767225600,"customer":{"id":"acme"},"attributes":{"org.id":7}}\n'
    const { problems, fixtures } = workspaceOf({
      'endpoints/a.sql': endpoint(),
      'sources/orders.yaml': 'project: customer.id\naliases: [shop]\n',
      'sources/other.yaml': 'project: attributes."org.id"\n',
      'fixtures/orders.ndjson': `${entry}{"timestamp":1767225601,"project":"own","customer":{"id":"acme"}}\n`,
      'fixtures/other.ndjson': entry,
      'fixtures/shop.ndjson': entry,
    })
    expect(problems).toEqual([])
    const stored = fixtures.flatMap(({ source, lines }) =>
      lines.map((line) => [source, JSON.parse(line.toString()).project]),
    )
    expect(stored).toEqual([
      ...[
        ['orders', 'acme'],
        ['orders', 'own'],
      ],
      ...[
        ['other', '7'],
        ['shop', 'acme'],
      ],
    ])
  })

  test('reads fixtures of declared sources', () => {
    const { problems, fixtures, definitions } = workspaceOf({
      'endpoints/a.sql': endpoint(),
      'sources/orders.yaml': 'description: Orders.\n',
      'sources/plain.yaml': '# Nothing to say.\n',
      'fixtures/orders.ndjson': '{"timestamp":1767225600}\n',
      'fixtures/plain.ndjson': '{"timestamp":1767225600}\n{"timestamp":1767225601}\n',
      'fixtures/notes.txt': 'x',
      'tests/a.yaml': oneTest('a'),
      'tests/.hidden.yaml': 'x',
    })
    expect(problems).toEqual([])
    expect(definitions.map(({ file, fields }) => [file, fields.name, fields.description])).toEqual([
      ['sources/orders.yaml', 'orders', 'Orders.'],
      ['sources/plain.yaml', 'plain', ''],
      ['endpoints/a.sql', 'a', ''],
    ])
    expect(fixtures.map(({ source, lines }) => [source, lines.length])).toEqual([
      ['orders', 1],
      ['plain', 2],
    ])
  })

  test('reports the problems of all files together, sorted by file and line', () => {
    expect(
      problemsOf({
        'endpoints/a.sql': endpoint(),
        'endpoints/b.sql': endpoint(),
        'endpoints/c.sql': 'SELECT 1',
        'endpoints/d.sql': Buffer.from([0xff, 0xfe]),
        'endpoints/e.sql': `/*\nid: ${id.replace('1', '2')}\nparameters:\n  p: { typ: integer }\n*/\nSELECT 1`,
        'sources/edge_logs.yaml': '',
        'sources/Orders.yaml': '',
        'sources/own.yaml': 'retention: 3\n',
        'sources/sx.yaml': '',
        'sources/sx.yml': 'description: Other.\n',
        'alerts/ax.yaml': 'endpoint: a\n',
        'alerts/ax.yml': 'endpoint: a\n',
        'fixtures/nothing.ndjson': '',
        'fixtures/edge_logs.ndjson': '{"timestamp":1767225600}\n{}\n',
        'tests/a.yaml': oneTest('gone'),
        'tests/c.yaml': oneTest('c'),
      }),
    ).toEqual([
      'alerts/ax.yaml:1:1: when is missing.',
      'alerts/ax.yml:1:1: alerts/ax.yaml declares the same alert. Remove one of the files.',
      'endpoints/b.sql:2:1: id is already used by endpoints/a.sql. Remove it, and run wellhead check --fix to write another.',
      'endpoints/c.sql:1:1: The header is missing. Run wellhead check --fix to write one, or start the file with a comment /* … */ that contains the settings.',
      'endpoints/d.sql:1:1: The file is not valid UTF-8.',
      'endpoints/e.sql:4:8: Unknown field "parameters.p.typ". Did you mean type?',
      'fixtures/edge_logs.ndjson:2:1: The entry needs a timestamp.',
      'fixtures/nothing.ndjson:1:1: Unknown source "nothing". To declare it, create sources/nothing.yaml, for example with: wellhead source init nothing --from <file of entries>',
      'sources/Orders.yaml:1:1: The source name must be lowercase letters, digits and _, starting with a letter, at most 64 characters.',
      'sources/edge_logs.yaml:1:1: The source edge_logs is built in. Remove this file.',
      'sources/own.yaml:1:1: Unknown field "retention".',
      'sources/sx.yml:1:1: sources/sx.yaml declares the same source. Remove one of the files.',
      'tests/a.yaml:1:1: endpoints/gone.sql does not exist.',
    ])
  })

  test('reads an empty workspace', () => {
    expect(problemsOf({ 'endpoints/.gitkeep': '' })).toEqual([])
  })
})

describe('writeMissingIds', () => {
  test('writes an id of its own into each endpoint file without one, and changes no other byte', () => {
    const files = {
      'endpoints/a.sql': endpoint(),
      'endpoints/b.sql': Buffer.from('\ufeff/*\r\nmax_rows: 5\r\n*/\r\nSELECT 1\r\n'),
      'endpoints/c.sql': '/* max_rows: [ */ SELECT 1',
      'endpoints/d.sql': 'SELECT 2',
      'endpoints/e.sql': Buffer.from([0xff, 0xfe]),
      'endpoints/.hidden.sql': 'SELECT 3',
      'endpoints/notes.txt': 'SELECT 4',
    }
    const directory = directoryOf(files)
    const ids = ['2', '3', '4', '5'].map((digit) => id.replaceAll('1', digit))
    const written = writeMissingIds(directory, () => ids.shift() as string)
    expect(written.map(({ file }) => file)).toEqual(['endpoints/b.sql', 'endpoints/d.sql'])
    const [b, d] = written.map((each) => each.id)
    const expected: Record<string, string | Buffer> = {
      ...files,
      'endpoints/b.sql': `\ufeff/*\r\nid: ${b}\r\nmax_rows: 5\r\n*/\r\nSELECT 1\r\n`,
      'endpoints/d.sql': `/*\nid: ${d}\n*/\nSELECT 2`,
    }
    expect(b).not.toBe(d)
    for (const [file, content] of Object.entries(expected)) {
      expect(readFileSync(join(directory, file))).toEqual(Buffer.from(content))
    }
    expect(writeMissingIds(directory, () => id)).toEqual([])
  })
})
