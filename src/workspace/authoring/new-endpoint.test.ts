import { expect, test } from 'vitest'
import { readDefinition } from '../../core/endpoints/definition/definition-file.ts'
import type { JsonValue } from '../../core/endpoints/definition/parameter-declaration.ts'
import { readFixtureFile } from '../fixture-file.ts'
import { readTestFile } from '../test-file.ts'
import { newEndpointFiles, parametersOf } from './new-endpoint.ts'
import { newWorkspaceFiles } from './new-workspace.ts'

const id = '11111111-2222-4333-8444-555555555555'
const nowMs = Date.UTC(2027, 4, 6, 7, 8)

function create(
  query: string,
  values: Record<string, JsonValue> = {},
  fixtures: { file: string; source: string; lines: Buffer[] }[] = [],
) {
  const files = newEndpointFiles({ name: 'mine', id, query, values, nowMs }, fixtures)
  expect(Object.keys(files)).toEqual(['endpoints/mine.sql', 'tests/mine.yaml'])
  const reading = readDefinition('endpoints/mine.sql', files['endpoints/mine.sql'] as string)
  const tests = readTestFile('tests/mine.yaml', files['tests/mine.yaml'] as string)
  if ('problems' in reading || 'problems' in tests) throw new Error(JSON.stringify([reading, tests]))
  return { definition: reading.definition, tests: tests.tests }
}

test('declares the parameters that the query uses, with the types of their examples', () => {
  const query =
    "SELECT '@text', @hours, @ratio -- @comment\nFROM edge_logs WHERE timestamp > @now AND a = @b;"
  const { definition, tests } = create(query, { hours: 24, ratio: 0.5 })
  expect(definition).toMatchObject({
    id,
    query: query.replace(';', ''),
    parameters: {
      hours: { type: 'integer', required: true, example: '24' },
      ratio: { type: 'number', required: true, example: '0.5' },
      b: { type: 'string', required: true, example: 'example' },
    },
  })
  expect(Object.keys(definition.parameters)).toEqual(['hours', 'ratio', 'b'])
  expect(tests).toMatchObject([{ parameters: { hours: '24', ratio: '0.5', b: 'example' } }])
})

test('takes types from the use in the SQL, and refuses an example of another type', () => {
  const query =
    'SELECT 1 FROM edge_logs WHERE timestamp BETWEEN @since AND @now AND status_code >= @status ' +
    'AND match(id, @pattern) AND metadata.retried::Bool = @retried AND project = @project LIMIT @n'
  const columnsOf = () => [{ name: 'status_code', path: 's', type: 'number' } as const]
  const files = newEndpointFiles({ name: 'mine', id, query, values: { n: 5 }, nowMs }, [], columnsOf)
  const reading = readDefinition('mine.sql', files['endpoints/mine.sql'] as string)
  if ('problems' in reading) throw new Error(JSON.stringify(reading))
  const { parameters } = reading.definition
  expect(Object.entries(parameters).map(([name, { type, example }]) => [name, type, example])).toEqual([
    ['since', 'timestamp', '2026-01-01T01:00:00Z'],
    ['status', 'number', '1'],
    ['pattern', 'regex', 'example'],
    ['retried', 'boolean', 'false'],
    ['project', 'string', 'demo'],
    ['n', 'integer', '5'],
  ])
  expect(() => create(query, { n: 'many' })).toThrow('parameters.n.example must be a whole number')
})

test('leaves parameters optional that the SQL compares with null, and omits them in the test', () => {
  const query =
    'SELECT 1 FROM edge_logs WHERE (@method IS NULL OR request_method = @method) AND (isNull(@since) OR timestamp > @since) ' +
    "AND (@path is not null AND path = @path) AND project = @project AND id = @id /* @id IS NULL */ AND x != '@id IS NULL'"
  const { definition, tests } = create(query, { path: '/a' })
  const declared = Object.entries(definition.parameters)
  expect(declared.map(([name, { type, required, example }]) => [name, type, required, example])).toEqual([
    ['method', 'string', false, undefined],
    ['since', 'timestamp', false, undefined],
    ['path', 'string', false, '/a'],
    ['project', 'string', true, 'demo'],
    ['id', 'string', true, 'example'],
  ])
  expect(tests[0]?.parameters).toEqual({ path: '/a', project: 'demo', id: 'example' })
})

test('keeps examples that look like YAML, comments or numbers', () => {
  const values = { a: '*/ { x: 1 }', b: true, c: '1.10', d: "null'\n# no", e: -5, f: null }
  const { definition, tests } = create('SELECT @a, @b, @c, @d, @e, @f', values)
  expect(tests[0]?.parameters).toEqual({ ...values, b: 'true', e: '-5', f: undefined })
  expect(Object.values(definition.parameters).map(({ type }) => type)).toEqual([
    ...['string', 'boolean', 'string', 'string', 'integer', 'string'],
  ])
  expect(definition.parameters.f?.required).toBe(false)
})

test('declares nothing for a query without parameters, and tests at the next hour without fixtures', () => {
  const { definition, tests } = create('SELECT 1 AS n')
  expect(definition.parameters).toEqual({})
  expect(tests).toMatchObject([{ parameters: {}, nowMs: Date.UTC(2027, 4, 6, 8) }])
})

test('tests the project and the time of the newest fixture', () => {
  const lines = newWorkspaceFiles('supabase', () => id)['fixtures/edge_logs.ndjson'] as string
  const file = readFixtureFile('fixtures/edge_logs.ndjson', 'edge_logs', lines)
  if ('problems' in file) throw new Error('unreadable')
  const { definition, tests } = create('SELECT @project AS project', {}, [file])
  expect(definition.parameters.project).toMatchObject({ required: true, example: 'shop' })
  expect(tests).toMatchObject([{ parameters: { project: 'shop' }, nowMs: Date.UTC(2026, 0, 31, 12) }])
})

test('leaves names that cannot be declared to the check of the file', () => {
  expect(parametersOf(`SELECT @_x, @${'y'.repeat(65)}, @now, @z, @z`)).toEqual(['z'])
})

test('declares lists for parameters that the SQL uses as lists', () => {
  const query = 'SELECT 1 FROM edge_logs WHERE (empty(@a) OR id IN @a) AND has(@b, 1) AND id = @c'
  const { parameters } = create(query, { b: [1] }).definition
  expect(parameters).toMatchObject({
    a: { type: 'list', of: 'string' },
    b: { type: 'list', of: 'number' },
    c: { type: 'string' },
  })
})
