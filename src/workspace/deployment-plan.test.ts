import { describe, expect, test } from 'vitest'
import { definitionShape } from '../endpoints/definition/definition.ts'
import { formatDefinition, readDefinition } from '../endpoints/definition/definition-file.ts'
import { compareWithServer, deploymentOf, endpointFile, nameConflicts, pullPlan } from './deployment-plan.ts'

const idOf = (digit: number) => `00000000-0000-4000-8000-00000000000${digit}`
const definition = (digit: number, name: string, query = 'SELECT 1') =>
  definitionShape.parse({ id: idOf(digit), name, query })
type Definition = ReturnType<typeof definition>

const onServer = (each: Definition, version = 1) => ({
  definition: each,
  columns: [],
  version,
  isShipped: false,
})

const local = (...definitions: Definition[]) =>
  definitions.map((each) => ({
    file: `endpoints/${each.name}.sql`,
    content: `-- a comment\n${formatDefinition(each)}`,
    definition: each,
    queryAt: { line: 1, column: 1 },
  }))

test('compares files and endpoints by id, and keeps the version of each', () => {
  const files = local(definition(1, 'same'), definition(2, 'changed', 'SELECT 2'), definition(3, 'fresh'))
  const comparison = compareWithServer({ endpoints: files }, [
    onServer(definition(1, 'same'), 4),
    onServer(definition(2, 'changed'), 7),
    onServer(definition(9, 'other')),
  ])
  expect(comparison.endpoints.map(({ current }) => current?.version)).toEqual([4, 7, undefined])
  expect(comparison.onlyOnServer.map((each) => each.definition.name)).toEqual(['other'])
  const [same, changed, fresh] = comparison.endpoints.map(({ diff }) => diff)
  expect(same).toBe('')
  expect(changed).toMatch(/^--- service\/changed \(version 7\)\n\+\+\+ endpoints\/changed\.sql\n/)
  expect(changed).toContain('\n-SELECT 1\n+SELECT 2\n')
  expect(fresh).toContain('+SELECT 1')
  expect(
    deploymentOf(comparison.endpoints).map(({ name, expected_version }) => [name, expected_version]),
  ).toEqual([
    ['same', 4],
    ['changed', 7],
    ['fresh', 0],
  ])
})

test.each([
  ['has another id', [definition(1, 'a')], [`endpoints/a.sql: on the service, a has the id ${idOf(9)}.`]],
  ['is renamed in the same deployment', [definition(1, 'a'), definition(9, 'b')], []],
  ['has the same id', [definition(9, 'a')], []],
])('reports name conflicts: the endpoint with the same name %s', (_, definitions, expected) => {
  const comparison = compareWithServer({ endpoints: local(...definitions) }, [onServer(definition(9, 'a'))])
  expect(nameConflicts(comparison)).toEqual(expected)
})

describe('pullPlan', () => {
  const files = local(definition(1, 'a'), definition(2, 'b'))
  const plan = (given: typeof files, pulled: Definition) =>
    pullPlan(given.map(endpointFile), new Set(files.map(({ file }) => file)), [
      endpointFile({ definition: pulled }),
    ])

  test('leaves an equivalent file unchanged', () => {
    expect(plan(files, definition(1, 'a'))).toMatchObject([{ action: 'unchanged', loses: [] }])
  })

  test('writes content that reads back as the same endpoint, so that deploying it changes nothing', () => {
    const given = definition(1, 'new', 'SELECT \'/* x */\' AS "y"')
    const [pulled] = plan([], given)
    const reading = readDefinition('new.sql', pulled?.content ?? '')
    expect('definition' in reading && reading.definition).toEqual(given)
  })

  test.each([
    ['another text', definition(1, 'a', 'SELECT 2'), 'a', 'replaced', ['a']],
    ['another name', definition(1, 'new'), 'new', 'replaced', ['a']],
    ['the name of another endpoint', definition(1, 'b'), 'b', 'replaced', ['a', 'b']],
    ['a new endpoint', definition(3, 'c'), 'c', 'written', []],
  ])('lists the files that would be lost: %s', (_, pulled, name, action, lost) => {
    expect(plan(files, pulled)).toMatchObject([
      { file: `endpoints/${name}.sql`, action, loses: lost.map((one) => `endpoints/${one}.sql`) },
    ])
  })

  test('lists an unreadable file with the name of the endpoint as lost', () => {
    expect(plan([], definition(1, 'a'))).toMatchObject([{ action: 'replaced', loses: ['endpoints/a.sql'] }])
  })
})
