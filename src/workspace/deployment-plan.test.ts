import { describe, expect, test } from 'vitest'
import { definitionShape } from '../endpoints/definition/definition.ts'
import { formatDefinition, readDefinition } from '../endpoints/definition/definition-file.ts'
import { compareWithServer, deploymentOf, pullPlan, strangersIn } from './deployment-plan.ts'
import type { ProjectEndpoint } from './workspace.ts'

const idOf = (digit: number) => `00000000-0000-4000-8000-00000000000${digit}`

function definition(digit: number, name: string, query = 'SELECT 1') {
  return definitionShape.parse({ id: idOf(digit), name, query })
}

function local(...definitions: ReturnType<typeof definition>[]): ProjectEndpoint[] {
  return definitions.map((each) => ({
    file: `endpoints/${each.name}.sql`,
    content: `-- as somebody wrote it\n${formatDefinition(each)}`,
    definition: each,
    queryAt: { line: 1, column: 1 },
  }))
}

describe('compareWithServer', () => {
  test('files and endpoints that have the same id are compared, and each keeps its version', () => {
    const files = local(definition(1, 'same'), definition(2, 'changed', 'SELECT 2'), definition(3, 'fresh'))
    const comparison = compareWithServer({ endpoints: files }, [
      { definition: definition(1, 'same'), version: 4 },
      { definition: definition(2, 'changed'), version: 7 },
      { definition: definition(9, 'other'), version: 1 },
    ])
    expect(comparison.endpoints.map(({ serverVersion }) => serverVersion)).toEqual([4, 7, 0])
    expect(comparison.onlyOnServer).toEqual(['other'])
    const [same, changed, fresh] = comparison.endpoints.map(({ diff }) => diff)
    expect(same).toBe('')
    expect(changed).toMatch(/^--- server\/changed \(version 7\)\n\+\+\+ endpoints\/changed\.sql\n/)
    expect(changed).toContain('\n-SELECT 1\n+SELECT 2\n')
    expect(fresh).toContain('+SELECT 1')
    expect(deploymentOf(comparison).map(({ name, expected_version }) => [name, expected_version])).toEqual([
      ['same', 4],
      ['changed', 7],
      ['fresh', 0],
    ])
  })
})

test('a file with the name of an endpoint of another id is told, unless that one is renamed along', () => {
  const server = [{ definition: definition(9, 'a'), version: 1 }]
  const strangers = (...files: ProjectEndpoint[]) =>
    strangersIn(compareWithServer({ endpoints: files }, server), server)
  expect(strangers(...local(definition(1, 'a')))).toEqual([
    `endpoints/a.sql: the service has a with the id ${idOf(9)}.`,
  ])
  expect(strangers(...local(definition(1, 'a'), definition(9, 'b')))).toEqual([])
  expect(strangers(...local(definition(9, 'a')))).toEqual([])
})

describe('pullPlan', () => {
  const plan = (files: ProjectEndpoint[], ...server: ReturnType<typeof definition>[]) =>
    pullPlan(
      files,
      new Set(files.map(({ file }) => file)),
      server.map((each) => ({ definition: each, version: 1 })),
    ).map(({ file, action, loses }) => [file, action, ...loses])

  test('a file that means the same stays byte for byte', () => {
    const files = local(definition(1, 'a'))
    const [pulled] = pullPlan(files, new Set(['endpoints/a.sql']), [
      { definition: definition(1, 'a'), version: 1 },
    ])
    expect(pulled).toMatchObject({ action: 'unchanged', content: files[0]?.content })
  })

  test('what is written reads back to what the service has, so that a deployment changes nothing', () => {
    const given = definition(1, 'a', 'SELECT \'/* x */\' AS "y"')
    const [pulled] = pullPlan([], new Set(), [{ definition: given, version: 1 }])
    const reading = readDefinition('a.sql', pulled?.content ?? '')
    expect('definition' in reading && reading.definition).toEqual(given)
  })

  test('what would be lost is told: another text, another name, another endpoint of this name', () => {
    const files = local(definition(1, 'a'), definition(2, 'b'))
    expect(plan(files, definition(1, 'a', 'SELECT 2'))).toEqual([
      ['endpoints/a.sql', 'replaced', 'endpoints/a.sql'],
    ])
    expect(plan(files, definition(1, 'new'))).toEqual([['endpoints/new.sql', 'replaced', 'endpoints/a.sql']])
    expect(plan(files, definition(1, 'b'))).toEqual([
      ['endpoints/b.sql', 'replaced', 'endpoints/a.sql', 'endpoints/b.sql'],
    ])
    expect(plan(files, definition(3, 'c'))).toEqual([['endpoints/c.sql', 'written']])
    expect(
      pullPlan([], new Set(['endpoints/a.sql']), [{ definition: definition(1, 'a'), version: 1 }]),
    ).toMatchObject([{ action: 'replaced', loses: ['endpoints/a.sql'] }])
  })
})
