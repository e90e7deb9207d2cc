import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { describedServer } from '../../described-server.ts'
import { callerWith } from '../access/caller.ts'
import { isAllowed, type RouteAccess } from './route-access.ts'

const page = readFileSync(new URL('../../../docs/guides/access.md', import.meta.url), 'utf8')
const texts: Record<string, string> = {
  public: 'none',
  optional: 'optional',
  any: 'any',
  'query or search': '`query` or `search`',
  call: '`query` or `dashboard:<name>`',
}

const scopes = ['query', 'dashboard:<name>', 'search', 'ingest', 'read', 'edit', 'deploy', 'admin']

test('docs/guides/access.md says what each scope allows, for what every route requires', async () => {
  const [, section = ''] = /^Every route requires.+?\n\n(.+?)\n\n/ms.exec(page) ?? []
  const required = Object.keys(isAllowed) as RouteAccess[]
  const expected = required.map((access) => {
    const allowed = scopes.filter((scope) =>
      isAllowed[access](callerWith({ id: scope, scopes: [scope], project: null, parameters: {} })),
    )
    const named =
      allowed.length === scopes.length ? 'every token' : allowed.map((scope) => `\`${scope}\``).join(', ')
    return `- ${texts[access] ?? `\`${access}\``}: ${access === 'public' || access === 'optional' ? 'everyone' : named}`
  })
  expect(section.split('\n')).toEqual(expected)
  expect(required).toEqual(
    expect.arrayContaining((await describedServer()).routeList.map(({ access }) => access)),
  )
})
