import { CompletionContext } from '@codemirror/autocomplete'
import { sql } from '@codemirror/lang-sql'
import { EditorState } from '@codemirror/state'
import { expect, test } from 'vitest'
import { namesDefined, sqlCompletion } from './sql-completion.ts'
import { clickhouse } from './sql-dialect.ts'

const names = {
  sources: {
    edge_logs: ['id', 'timestamp', 'project', 'event_message', 'status_code'],
    auth_logs: ['id', 'timestamp', 'project', 'event_message', 'action'],
    function_edge_logs: ['id', 'timestamp', 'project', 'event_message', 'execution_time'],
  },
  paths: [
    { label: 'metadata.response.status_code', cast: 'Nullable(Float64)' },
    { label: 'metadata.request.path', cast: 'Nullable(String)' },
    { label: 'metadata.items', cast: null },
  ],
  parameters: ['project', 'hours', 'now'],
}

/** Labels for a query with the cursor at the bar. */
const suggested = (marked: string, explicit = false) => options(marked, explicit).map(({ label }) => label)

function options(marked: string, explicit = false) {
  const pos = marked.indexOf('|')
  const state = EditorState.create({ doc: marked.replace('|', ''), extensions: sql({ dialect: clickhouse }) })
  const found = sqlCompletion(() => names)(new CompletionContext(state, pos, explicit))
  return found && 'options' in found ? found.options : []
}

test.each([
  ['SELECT tostartofmi|', 'toStartOfMinute'],
  ['sel|', 'SELECT'],
  ['SELECT * FROM edge_logs WHERE matc|', 'matches'],
  ['SELECT count() AS requests FROM edge_logs ORDER BY req|', 'requests'],
  ['SELECT * FROM edge_logs WHERE project = @pro|', '@project'],
  ['SELECT * FROM edge_logs WHERE timestamp > ho|', '@hours'],
  ['SELECT stat| FROM edge_logs', 'status_code'],
  ['SELECT e.stat| FROM edge_logs AS e', 'status_code'],
  ['SELECT e.metadata.resp| FROM edge_logs AS e', 'metadata.response.status_code'],
  ['SELECT 1 FROM edge|', 'edge_logs'],
  ['WITH errors AS (SELECT 1 FROM edge_logs) SELECT * FROM e|', 'errors'],
])('suggests first for %s', (query, label) => {
  expect(suggested(query)[0]).toBe(label)
})

test('inserts a path with its type where its last key is typed, unless a cast follows', () => {
  const inserted = (query: string) => options(query).map(({ label, apply }) => apply ?? label)
  expect(inserted('SELECT path| FROM edge_logs')).toContain('metadata.request.path::Nullable(String)')
  expect(inserted('SELECT path|::String FROM edge_logs')).toContain('metadata.request.path')
  expect(inserted('SELECT item| FROM edge_logs')).toContain('metadata.items')
})

test('puts prefixes before names that contain the text, and these before scattered letters', () => {
  const found = suggested('SELECT * FROM edge|')
  expect(found.indexOf('edge_logs')).toBeLessThan(found.indexOf('function_edge_logs'))
  const letters = suggested('SELECT cou| FROM edge_logs')
  expect(letters.slice(0, 2)).toEqual(['count', 'countIf'])
})

test('suggests views and aliases of the query beside names of the data, prefixes first', () => {
  const found = suggested('WITH edges AS (SELECT * FROM edge_logs)\nSELECT count() AS edge_count FROM edge|')
  expect(found.slice(0, 2)).toEqual(['edges', 'edge_logs'])
  expect(found.indexOf('edge_count')).toBeGreaterThan(0)
  expect(found.indexOf('edge_count')).toBeLessThan(found.indexOf('function_edge_logs'))
})

test('suggests columns of the sources that the query reads', () => {
  expect(suggested('SELECT act| FROM edge_logs')).not.toContain('action')
  expect(suggested('SELECT act| FROM auth_logs')).toContain('action')
  // Before a source is written, all of them count.
  expect(suggested('SELECT act|')).toContain('action')
})

test.each(["SELECT 'sel|'", '-- sel|', '/* sel| */', 'LIMIT 10|', 'SELECT |', 'SELECT zzzz|'])(
  'suggests nothing for %s',
  (query) => {
    expect(suggested(query)).toEqual([])
  },
)

test('does not take the word that is being typed for a name', () => {
  expect(suggested('SELECT count() AS reque| FROM edge_logs')).not.toContain('reque')
})

test('finds aliases and views, but not types of a cast', () => {
  expect(
    namesDefined(
      "WITH a AS (SELECT 1), 2 AS two SELECT CAST(x AS String) AS text, ' AS no' FROM a AS b -- AS c",
    ),
  ).toEqual({ aliases: ['two', 'text', 'b'], views: ['a'] })
  expect(namesDefined('SELECT 1 AS')).toEqual({ aliases: [], views: [] })
})
