import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { scopeForms, scopePattern } from '../../shared/scopes.ts'
import { tokenShape } from './token.ts'

describe('docs/guides/access.md', () => {
  const page = readFileSync(new URL('../../../docs/guides/access.md', import.meta.url), 'utf8')
  /** What each line names of the list after these words. */
  const listed = (words: string) => {
    const [, list = ''] = page.slice(page.indexOf(words)).split('\n\n')
    return list.split('\n').map((line) => /^- `([^`]+)`/.exec(line)?.[1] ?? line)
  }

  test('lists every field of a token, and nothing else', () => {
    expect(listed('The fields, with').toSorted()).toEqual(Object.keys(tokenShape.shape).toSorted())
  })

  test('lists every scope, and nothing else', () => {
    const scopes = listed('The scopes:')
    const plain = (scope: string) => scope.replace(/<\w+>/, '<name>')
    expect(scopes.map(plain)).toEqual(scopeForms.map(plain))
    for (const scope of scopes) expect(scope.replace(/<\w+>/, 'logs.all')).toMatch(scopePattern)
  })
})
