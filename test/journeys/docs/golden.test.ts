import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { createProgram } from '../../../src/cli/program.ts'
import { variableOf } from '../../../src/core/base/settings.ts'
import { loadSettings } from '../../../src/settings-table.ts'
import { ask } from '../../support/callers.ts'
import { manualClock, manualTime } from '../../support/manual-clock.ts'
import { memoryIo } from '../../support/memory-io.ts'
import { recordStatements } from '../../support/recorded-statements.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { connect } from '../mcp/connect.ts'

/**
 * What callers, operators and agents see of the whole service, as files in `test/golden`. A change of structure changes none of
 * them. `npx vitest run test/journeys/docs/golden.test.ts -u` writes them again; review the difference.
 */
const golden = (name: string) => new URL(`../../golden/${name}`, import.meta.url).pathname

describe('what a service shows', () => {
  let service: RunningService
  beforeAll(async () => {
    service = await openService({ environment: { WELLHEAD_MCP_WRITE: 'on', WELLHEAD_STATISTICS: 'on' } })
    return () => service.close()
  })

  test('openapi.txt is the OpenAPI document without a token, openapi-admin.txt what an admin sees beyond it', async () => {
    const everybody = (await (await fetch(new URL('/openapi.json', service.url))).json()) as OpenApi
    everybody.info.version = 'of the package'
    await expect(linesOf(everybody)).toMatchFileSnapshot(golden('openapi.txt'))
    const admin = (await (await service.call('/openapi.json')).json()) as OpenApi
    admin.info.version = 'of the package'
    await expect(linesOf(addition(everybody, admin))).toMatchFileSnapshot(golden('openapi-admin.txt'))
  })

  test('metrics.txt is the list of metrics', async () => {
    const page = await (await service.call('/metrics')).text()
    const lines = page.split('\n').filter((line) => /^# (?:HELP|TYPE) wellhead/.test(line))
    await expect(`${lines.toSorted().join('\n')}\n`).toMatchFileSnapshot(golden('metrics.txt'))
  })

  test('mcp-tools.txt is the list of tools of an admin', async () => {
    const { client } = await connect(service)
    const { tools } = await client.listTools()
    await client.close()
    await expect(linesOf(Object.fromEntries(tools.map((tool) => [tool.name, tool])))).toMatchFileSnapshot(
      golden('mcp-tools.txt'),
    )
  })
})

test('help.txt is the help of every command', async () => {
  const program = await createProgram(memoryIo())
  const pages: string[] = []
  const add = (command: typeof program, words: readonly string[]): void => {
    const name = [...words, command.name()]
    // Defaults can depend on the machine, such as half of its memory.
    if (name.join(' ') !== 'wellhead serve')
      pages.push(`$ ${name.join(' ')} --help\n${command.helpInformation()}`)
    for (const inner of command.commands) add(inner, name)
  }
  add(program, [])
  await expect(pages.join('\n')).toMatchFileSnapshot(golden('help.txt'))
})

test('settings.txt is the table of settings', async () => {
  const rows = Object.entries(await loadSettings()).map(([name, row]) => {
    const { default: fallback, expected, description, secret } = row
    const shown = name === 'engineMemory' ? 'half of the memory' : fallback
    return [variableOf(name), shown ?? '', expected, description, secret ? 'secret' : ''].join(' | ')
  })
  await expect(`${rows.join('\n')}\n`).toMatchFileSnapshot(golden('settings.txt'))
})

test('statements.txt has a hash of each statement that these journeys send', async () => {
  const statements = recordStatements()
  const clock = manualClock()
  const service = await openService({ time: manualTime(clock), engine: 'embedded' })
  try {
    const admin = async (method: string, path: string, body?: unknown) => {
      const response = await ask(service, service.adminToken.token, method, path, body)
      expect(response.status, `${method} ${path} ${JSON.stringify(response.body)}`).toBeLessThan(300)
      return response.body
    }
    await admin('POST', '/api/plans', { name: 'golden', retention_days: 7, entries_per_day: 1000 })
    await admin('POST', '/api/deployments', {
      sources: [{ name: 'shop', columns: [{ name: 'total', path: 'total', type: 'number' }] }],
      tables: [
        {
          name: 'regions',
          columns: [
            { name: 'region', type: 'text' },
            { name: 'title', type: 'text' },
          ],
        },
      ],
      endpoints: [
        {
          name: 'shop.sum',
          query: 'SELECT sum(total) AS total, count() AS n FROM shop WHERE event_message = @word',
        },
        {
          name: 'shop.regions',
          query: 'SELECT title, count() AS n FROM shop, regions GROUP BY title ORDER BY title',
        },
      ],
      alerts: [{ name: 'shop-many', endpoint: 'shop.regions', when: 'any(n) > 5', enabled: false }],
      dashboards: [{ name: 'shop', rows: [{ items: [{ endpoint: 'shop.regions' }] }] }],
    })
    await admin('PUT', '/api/tables/regions/rows?format=json', [{ region: 'north', title: 'North' }])
    await admin('PUT', '/api/projects/acme', { plan: 'golden' })
    const { token } = await admin('POST', '/api/access-tokens', {
      description: 'a tenant',
      scopes: ['query', 'search'],
      project: 'acme',
    })
    const entries = [1, 2, 3].map((total) => ({
      id: `entry-${total}`,
      project: 'acme',
      event_message: 'paid',
      timestamp: new Date(clock.now() - 60_000).toISOString(),
      metadata: { total, level: 'info' },
    }))
    await admin('POST', '/api/logs?source=shop', entries)
    await admin('POST', '/api/logs?source=edge_logs', entries)
    for (const path of [
      '/api/endpoints/query/shop.sum?word=paid',
      '/api/endpoints/query/shop.regions?_format=csv',
      '/api/endpoints/query/logs.all?project=acme&project_tier=PRO',
      '/api/endpoints/query/usage.api-counts?project=acme&interval=daily',
      '/api/endpoints/query/functions.invocation-stats?project=acme&interval=7day',
    ]) {
      await admin('GET', path)
      const asTenant = path.replace(/[?&]project=acme/, (text) => (text.startsWith('?') ? '?' : ''))
      await ask(service, token, 'GET', asTenant.replace('?&', '?'))
    }
    await admin('POST', '/api/sql', { query: 'SELECT count() AS n FROM shop' })
    await admin('POST', '/api/sources/edge_logs/search', { query: 'paid level:info' })
    await ask(service, token, 'POST', '/api/sources/edge_logs/search', { query: 'paid' })
    await admin('POST', '/api/sources/edge_logs/histogram', { query: 'paid' })
    await admin('POST', '/api/sources/edge_logs/facets', { query: 'paid' })
    await admin('GET', '/api/sources/edge_logs/schema')
    await admin('GET', '/api/sources/shop/recent')
    await admin('GET', '/api/usage')
    await admin('GET', '/api/projects')
    await admin('POST', '/api/alerts/shop-many/test')
    await admin('POST', '/api/erasures', { project: 'acme', source: 'shop', ids: ['entry-1'], dry_run: true })
    await admin('DELETE', '/api/dashboards/shop')
  } finally {
    await service.close()
    statements.stop()
  }
  const lines = statements.texts().map((text) => {
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 16)
    return `${hash} ${text.slice(0, 90).replace(/\s+/g, ' ')}`
  })
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(golden('statements.txt'))
})

/** One line for each operation and component. The order of members says nothing. */
function linesOf(value: unknown, path: readonly string[] = []): string {
  const isDeep = path.length === 3 || !isObject(value)
  if (isDeep) return `${path.join(' ')}: ${JSON.stringify(value, inOrder)}\n`
  return Object.entries(inOrder('', value))
    .map(([key, member]) => linesOf(member, [...path, key]))
    .join('')
}

/** The members of `after` that `before` lacks or has otherwise. */
function addition(before: unknown, after: unknown): unknown {
  if (!isObject(before) || !isObject(after)) return after
  const differing = Object.keys(after).filter((key) => !isDeepStrictEqual(before[key], after[key]))
  return Object.fromEntries(differing.map((key) => [key, addition(before[key], after[key])]))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

interface OpenApi {
  info: { version: string }
}

function inOrder(key: string, value: unknown): object {
  if (key === 'required' && Array.isArray(value)) return value.toSorted()
  if (!isObject(value)) return value as object
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}
