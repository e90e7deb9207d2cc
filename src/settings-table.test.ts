import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { settingsReader } from '../test/support/settings.ts'
import { variableOf } from './core/base/settings.ts'
import { loadSettings } from './settings-table.ts'

const table = await loadSettings()

test('features have defaults of their own', () => {
  expect(settingsReader(table).settingsOf({})).toMatchObject({
    embedOrigins: ['*'],
    statistics: true,
    metrics: 'token',
    mcpWrite: false,
    oidcScopes: 'openid profile email',
    oidcGroupsClaim: 'groups',
    oidcCustomerScopes: ['query'],
    oidcUnverifiedEmail: 'refuse',
    linkDays: 90,
  })
})

describe('docs/reference/settings.md', () => {
  const page = readFileSync(new URL('../docs/reference/settings.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^- `(\w+)` \((none|[^`)]+|`[^`]*`)\): (.+)$/gm)].map(
    ([, variable, preset, description]) => ({ variable, preset, description }),
  )

  /** The default depends on the machine. */
  const inWords: Partial<Record<string, string>> = { engineMemory: 'half of the memory' }

  test('lists every setting with its variable and default, and no other', () => {
    const expected = Object.entries(table).map(([name, { default: preset }]) => {
      return {
        variable: variableOf(name),
        preset: inWords[name] ?? (preset === undefined ? 'none' : `\`${preset}\``),
        description: expect.stringMatching(/\w.*\.$/),
      }
    })
    expect(rows).toEqual(expected)
  })

  test('names no variable that is not a setting', () => {
    const known = new Set(Object.keys(table).map(variableOf))
    const named = new Set(page.match(/WELLHEAD_[A-Z_]*[A-Z]/g))
    expect([...named].filter((variable) => !known.has(variable))).toEqual([])
  })
})
