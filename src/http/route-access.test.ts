import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { callerWith } from '../access/caller.ts'
import { isAllowed, type RouteAccess } from './route-access.ts'
import { documentedRoutes } from './server.ts'

const page = readFileSync(new URL('../../docs/guides/access.md', import.meta.url), 'utf8')
const texts: Record<string, string> = {
  public: 'none',
  optional: 'optional',
  any: 'any',
  'query or search': '`query` or `search`',
  'query or dashboard': '`query` or `dashboard:<name>`',
}

test('docs/guides/access.md says what each scope allows, for what every route requires', async () => {
  const [head = [], , ...rows] = page
    .split('\n')
    .slice(page.split('\n').findIndex((line) => line.startsWith('| Requires')))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
  const scopes = head.slice(2).map((cell) => /`([^`]+)`/.exec(cell)?.[1] as string)
  const required = Object.keys(isAllowed) as RouteAccess[]
  const expected = required.map((access) => [
    texts[access] ?? `\`${access}\``,
    access === 'public' || access === 'optional' ? 'yes' : '',
    ...scopes.map((scope) => {
      const caller = callerWith({ id: scope, scopes: [scope], project: null, parameters: {} })
      return isAllowed[access](caller) ? 'yes' : ''
    }),
  ])
  expect(rows.slice(0, required.length)).toEqual(expected)
  expect(required).toEqual(expect.arrayContaining((await documentedRoutes()).map(({ access }) => access)))
})
