import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { isAggregate } from '../../../src/core/sql/functions.ts'
import { types } from '../../../src/core/sql/hints/dialect-hints.ts'
import dialects from '../../../src/core/sql/hints/dialects.json' with { type: 'json' }
import { codeTokens } from '../../../src/core/sql/tokens.ts'
import { ask, makeToken } from '../../support/callers.ts'
import type { RunningService } from '../../support/service.ts'

/** SQL as people write it, each followed by a comment with the position and the message. */
const mistakes = readFileSync(new URL('mistakes.txt', import.meta.url), 'utf8')
  .split(/\n\n+/)
  .filter((part) => !part.startsWith('# '))
  .map((part) => {
    const lines = part.trimEnd().split('\n')
    const [, at = '', message = ''] = /^-- (\d+:\d+) (.*)$/.exec(lines.pop() ?? '') ?? []
    return { sql: lines.join('\n'), at, message }
  })

const hints = [
  ...[dialects.functions, dialects.tableFunctions, dialects.otherTypes, dialects.values].flatMap((named) =>
    Object.values(named),
  ),
  ...[...dialects.messages, ...dialects.clauses, ...dialects.patterns].map(({ hint }) => hint),
]

/** The SQL of all hints, in which x is a number, s is text and a is an array. */
const suggestions = [
  ...hints.flatMap((hint) => [...hint.matchAll(/`([^`]+)`/g)].map(([, sql = '']) => sql)),
  ...Object.values(types).map((type) => `CAST(s AS ${type})`),
  "JSONExtractString(metadata, 'items', 1, 'id')",
]
const sample =
  '(SELECT id AS s, length(id) + 0.5 AS x, [length(id)] AS a, timestamp, project, metadata FROM edge_logs)'

/** Few statements, because each takes long where the engine is emulated. */
function statementsOf(all: readonly string[]): string[] {
  const isWhole = (sql: string) => /^(?:SELECT|WITH|FROM|WHERE) /.test(sql)
  const expressions = [...new Set(all)].filter((sql) => !isWhole(sql))
  const aggregates = expressions.filter((sql) =>
    codeTokens(sql).some(({ text }, at, tokens) => isAggregate(text) && tokens[at + 1]?.text === '('),
  )
  const select = (list: readonly string[]) =>
    `SELECT ${list.map((sql, index) => `${sql} AS c${index}`).join(', ')} FROM ${sample}`
  return [
    select(aggregates),
    select(expressions.filter((sql) => !aggregates.includes(sql))),
    ...all.filter(isWhole).map((sql) => {
      if (sql.startsWith('FROM ')) return `SELECT 1 ${sql}`
      return sql.startsWith('WHERE ') ? `SELECT 1 FROM edge_logs ${sql}` : sql
    }),
  ]
}

const statements = [...new Set(statementsOf(suggestions))]

interface Outcome {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: the shape depends on the request.
  body: any
}

export function describeMistakes(service: () => RunningService): void {
  const admin = (method: string, path: string, body?: unknown) =>
    ask(service(), service().adminToken.token, method, path, body)
  const check = (query: string) => admin('POST', '/api/endpoints/check', { query })
  const shown = ({ body: { error } }: Outcome) => `${error?.line}:${error?.column} ${error?.message}`

  describe('SQL of other dialects', () => {
    const outcomes = new Map<string, Outcome>()

    beforeAll(async () => {
      const waiting = [...mistakes.map(({ sql }) => sql), ...statements]
      const work = async () => {
        for (let sql = waiting.shift(); sql !== undefined; sql = waiting.shift()) {
          outcomes.set(sql, await check(sql))
        }
      }
      await Promise.all([work(), work(), work(), work()])
    })

    test.each(mistakes)('$sql is refused at $at', ({ sql, at, message }) => {
      const outcome = outcomes.get(sql) as Outcome
      expect([outcome.status, shown(outcome)]).toEqual([422, `${at} ${message}`])
    })

    test('is a list of many mistakes', () => expect(mistakes.length).toBeGreaterThan(150))

    test.each(statements)('has hints that compile: %s', (sql) => {
      const { status, body } = outcomes.get(sql) as Outcome
      expect([status, body.error?.message]).toEqual([200, undefined])
    })

    test('has the same error on every door, at the position in the typed text', async () => {
      const query = "\n\n  SELECT id,\n  to_char(timestamp, 'YYYY') AS year FROM edge_logs"
      const error = {
        code: 'invalid_query',
        ...{ line: 4, column: 3 },
        message: expect.stringMatching(/There is no function to_char\. Write formatDateTime\(timestamp, /),
      }
      const definition = { name: 'test.mistake', query }
      for (const [path, body] of [
        ['/api/endpoints/check', { query }],
        ['/api/endpoints', definition],
        ['/api/deployments', { endpoints: [definition] }],
        ['/api/deployments', { endpoints: [definition], dry_run: true }],
        ['/api/endpoints/preview', { endpoint: { query } }],
      ] as const) {
        expect([path, await admin('POST', path, body)]).toMatchObject([
          path,
          { status: 422, body: { error } },
        ])
      }
    })

    test('in a sandbox gets hints that name its views only, and no parameters', async () => {
      const query = 'WITH requests AS (SELECT id, event_message FROM edge_logs) SELECT * FROM requests'
      const made = await admin('POST', '/api/endpoints', { name: 'test.sandbox', query, sandbox: true })
      expect(made.status).toBe(201)
      const send = async (sql: string) =>
        shown(await admin('POST', '/api/endpoints/query/test.sandbox', { sql }))
      const list = 'Views that can be read: requests.'
      expect([
        await send('SELECT * FROM edge_log'),
        await send('SELECT *\nFROM request'),
        await send('SELECT * FROM public.edge_logs'),
        await send('SELECT id FROM edge-log'),
        await send('SELECT id FROM a.b.edge_logs'),
        await send('SELECT getdate()'),
        await send("SELECT id FROM requests WHERE id = :id AND event_message ~ 'a'"),
        await send("SELECT id FROM requests WHERE event_message ~* 'a'"),
        await send('SELECT id FROM requests WHERE id = "a"'),
      ]).toEqual([
        `1:15 "edge_log" cannot be read here. ${list}`,
        `2:6 "request" cannot be read here. Did you mean requests? ${list}`,
        `1:15 "public.edge_logs" cannot be read here. ${list}`,
        `1:16 "edge-log" cannot be read here. ${list}`,
        `1:16 "a.b.edge_logs" cannot be read here. ${list}`,
        '1:8 There is no function getdate. Write now().',
        '1:36 :id is not a parameter. SQL of callers has none: write the value instead.',
        "1:45 Write match(event_message, '(?i)a').",
        `1:36 Text needs single quotes. Write 'a' instead of "a".`,
      ])
    })
  })

  describe('a name with a typing mistake', () => {
    test('of an endpoint is corrected for callers that may call the endpoint', async () => {
      const all = await makeToken(service(), { scopes: ['query'] })
      const one = await makeToken(service(), { scopes: ['query:logs.all'] })
      const call = '/api/endpoints/query/function.invocation-stats'
      const message =
        'No endpoint has the id or name "function.invocation-stats". Did you mean functions.invocation-stats?'
      expect((await ask(service(), all.token, 'GET', call)).body.error.message).toBe(message)
      expect((await admin('GET', '/api/endpoints/function.invocation-stats')).body.error.message).toBe(
        message,
      )
      const refused = await ask(service(), one.token, 'GET', call)
      expect(refused).toMatchObject({ status: 403 })
      expect(refused.body.error.message).not.toContain('functions')
    })

    test('of a column is corrected to the path of the entries', async () => {
      expect((await admin('POST', '/api/sources', { name: 'till' })).status).toBe(201)
      const entry = {
        route: '/cart',
        timing: { total_ms: 3 },
        items: [{ sku: 'a' }],
        is_test: true,
        tags: ['x'],
      }
      await admin('POST', '/api/logs?source=till', [{ project: 'demo', metadata: entry }])
      const meant = async (name: string) => {
        const { status, body } = await check(`SELECT ${name} FROM till t`)
        const [, path] = /^There is no column \S+\. Did you mean (\S+)\?$/.exec(body.error.message) ?? []
        expect([name, status, body.error.line, body.error.column]).toEqual([name, 422, 1, 8])
        // What is suggested can be run.
        expect((await check(`SELECT ${path} AS value FROM till t`)).status).toBe(200)
        return path
      }
      expect(await meant('route')).toBe('metadata.route::Nullable(String)')
      expect(await meant('t.total_ms')).toBe('t.metadata.timing.total_ms::Nullable(Float64)')
      expect(await meant('items')).toBe('metadata.items[]')
      expect(await meant('is_test')).toBe('metadata.is_test::Nullable(Bool)')
      expect(await meant('tags')).toBe('metadata.tags::Array(String)')
    })

    test('of a source is corrected for senders that may send to the source', async () => {
      const all = await makeToken(service(), { scopes: ['ingest'] })
      const one = await makeToken(service(), { scopes: ['ingest:edge_log', 'ingest:auth_logs'] })
      const send = async (token: string, source: string) =>
        (await ask(service(), token, 'POST', `/api/logs?source=${source}`, {})).body.error.message
      expect(await send(all.token, 'edge_log')).toBe(
        'No source has the name "edge_log". Did you mean edge_logs?',
      )
      expect(await send(one.token, 'edge_log')).toBe('No source has the name "edge_log".')
      // Only the service writes to this source.
      expect(await send(all.token, 'endpoint_request')).toBe('No source has the name "endpoint_request".')
      expect((await admin('GET', '/api/sources/edge_log')).body.error.message).toContain('edge_logs?')
    })
  })

  test.each([
    ['without line breaks, as curl -d sends them', '{"id":"a"}{"id":"b"}', /curl needs --data-binary\.$/],
  ])('entries %s are refused with what to do', async (_, body, message) => {
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
    const response = await service().call('/api/logs?source=edge_logs', { method: 'POST', headers, body })
    const { error } = (await response.json()) as { error: { code: string; message: string } }
    expect([response.status, error.code]).toEqual([400, 'invalid_body'])
    expect(error.message).toMatch(message)
  })
}
