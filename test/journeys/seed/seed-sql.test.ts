import { expect, test } from 'vitest'
import { withNow } from '../../../src/core/endpoints/definition/parameters.ts'
import { describeApiCounts } from './api-counts.ts'
import { describeInvocationStats } from './invocation-stats.ts'
import { describeLogsAll } from './logs-all.ts'
import { at, call, compile, insert, minute, printed, run, withSeedEngine } from './queries.ts'

withSeedEngine()
describeInvocationStats()
describeLogsAll()
describeApiCounts()

test('a parameter of every type arrives in the engine as the value that was sent', async () => {
  const types = ['string', 'integer', 'number', 'boolean', 'timestamp', 'regex']
  const { sql, check } = compile(
    'types.sql',
    `/*
id: 3f8e2a70-61c4-4d0b-9b4e-0c1d5a7e9f21
parameters: { ${types.map((type) => `${type}: { type: ${type} }`).join(', ')} }
*/
SELECT ${[...types, 'undeclared', 'now'].map((name) => `@${name} AS sent_${name}`).join(', ')}`,
  )
  const now = at('2026-03-10T12:34:56.789012Z')
  const texts = { string: '\\N', regex: "it's \\ \t\n\0 😀", undeclared: '{x:String}' }
  const others = { integer: '-4503599627370497', number: '1e300', boolean: 'false' }
  const given = { ...texts, ...others, timestamp: '1969-12-31T23:59:59.999999Z' }
  const sent = await run(sql, withNow(check(given), now))
  expect(sent.rows).toEqual([
    {
      sent_string: texts.string,
      sent_integer: -4503599627370497,
      sent_number: 1e300,
      sent_boolean: false,
      sent_timestamp: '1969-12-31 23:59:59.999999',
      sent_regex: texts.regex,
      sent_undeclared: texts.undeclared,
      sent_now: printed(now),
    },
  ])
  const engineTypes = ['String', 'Int64', 'Float64', 'Bool', "DateTime64(6, 'UTC')", 'String', 'String']
  expect(sent.types).toEqual([...engineTypes.map((type) => `Nullable(${type})`), "DateTime64(6, 'UTC')"])
  const omitted = await run(sql, withNow(check({}), now))
  expect(Object.values(omitted.rows[0] ?? {})).toEqual([...engineTypes.map(() => null), printed(now)])
})

test('the example of docs/guides/endpoints.md gives the slowest requests', async () => {
  const now = at('2027-06-01T00:00:00Z')
  const request = (time: number, method: string) => ({
    project: 'example',
    at: now - minute,
    metadata: { request: { path: `/${time}`, method }, response: { origin_time: time } },
  })
  await insert('edge_logs', [request(5, 'GET'), request(50.5, 'GET'), request(500, 'PUT')])
  const given = { project: 'example', method: 'GET', since: '2027-05-31T00:00:00Z', limit: '1' }
  const { rows } = await call('example', given, now)
  expect(rows).toEqual([{ timestamp: printed(now - minute), request_path: '/50.5', origin_time: 50.5 }])
})
