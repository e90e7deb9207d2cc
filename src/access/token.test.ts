import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { scopeNames, scopePattern } from './caller.ts'
import { tokenShape } from './token.ts'

describe('docs/guides/access.md', () => {
  const page = readFileSync(new URL('../../docs/guides/access.md', import.meta.url), 'utf8')
  const firstCells = (heading: string) => {
    const lines = page.slice(page.indexOf(`| ${heading} `)).split('\n')
    const rows = lines.slice(2, lines.indexOf(''))
    return rows.map((row) => /^\| `([^`]+)`/.exec(row)?.[1] ?? row)
  }

  test('lists every field of a token, and nothing else', () => {
    expect(firstCells('Field').toSorted()).toEqual(Object.keys(tokenShape.shape).toSorted())
  })

  test('lists every scope, and nothing else', () => {
    const scopes = firstCells('Scope')
    const plain = (scope: string) => scope.replace(/<\w+>/, '<name>')
    expect(scopes.map(plain)).toEqual(scopeNames.split(/, | or /).map(plain))
    for (const scope of scopes) expect(scope.replace(/<\w+>/, 'logs.all')).toMatch(scopePattern)
  })
})
