import { Session } from 'node:inspector/promises'
import { setFlagsFromString } from 'node:v8'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { logTables } from '../log-views.ts'
import { translateBigQuery } from './translate.ts'

const tables = logTables(() => undefined, 'views')

function outcome(sql: string): string {
  try {
    return translateBigQuery(sql, tables).sql
  } catch (error) {
    return (error as Error).message
  }
}

const list = (length: number, item: (index: number) => string, between = ',') =>
  Array.from({ length }, (_, index) => item(index)).join(between)

/** Hostile SQL of any size. */
const shapes: Record<string, (size: number) => string> = {
  'a list of numbers': (size) => `select id from edge_logs where 1 in (${list(size, () => '1')})`,
  'a list of texts': (size) => `select id from edge_logs where id not in (${list(size, () => "'a'")})`,
  'names of columns': (size) =>
    `with a as (select ${list(100, (n) => `1 as c${n}`)}) select ${list(size, (n) => `c${n % 100}`, '+0,')} from a`,
  'names of a wide table': (size) =>
    `with a as (select ${list(size, (n) => `1 as c${n}`)}) select ${list(size, (n) => `c${n}`, '+0,')} from a`,
  'names beside wide tables': (size) =>
    `with w as (select ${list(100, (n) => `1 as c${n}`)}), o as (select 1 as x) select ${list(size, () => 'x')} from o${list(size >> 3, (n) => `, w as w${n}`, '')}`,
  'names of fields': (size) => `select ${list(size, () => 'm.a')} from edge_logs, unnest(metadata) as m`,
  'bare names among objects': (size) =>
    `select ${list(size, (n) => `f${n % 9}`)} from edge_logs, unnest(metadata) as m${list(size >> 5, (n) => `, unnest(m.a) as u${n}`, '')}`,
  windows: (size) =>
    `select ${list(size >> 3, () => 'sum(1) over (partition by id order by timestamp, id)')} from edge_logs`,
  'columns of USING': (size) =>
    `with w as (select ${list(size, (n) => `1 as c${n}`)}) select 1 from w as a join w as b using (${list(size, (n) => `c${n}`)})`,
  'a path': (size) => `select m${list(size, () => '.a', '')} from edge_logs, unnest(metadata) as m`,
  'subqueries in WITH': (size) =>
    `with ${list(size >> 3, (n) => `a${n} as (select (with b as (select 1 as x) select x from b) as x)`)} select * from a0`,
  'tables in UNION': (size) =>
    `with a as (select 1 as x, 2 as y) ${list(size >> 3, () => 'select * from a', ' union all ')}`,
  'group keys': (size) =>
    `select ${list(size, (n) => `1 as c${n}`)} from edge_logs group by ${list(size, (n) => `c${n}`)}`,
  positions: (size) =>
    `select id from edge_logs group by ${list(size, () => '1')} order by ${list(size, () => '1')}`,
  'columns of one name': (size) => `select ${list(size, () => '1 as x')}`,
  conditions: (size) => `select id from edge_logs where ${list(size, () => 'id = id', ' and ')}`,
  cases: (size) => `select case id ${list(size, () => "when 'a' then 1", ' ')} end from edge_logs`,
  arguments: (size) => `select concat(${list(size, () => 'id')}) from edge_logs`,
  'first elements': (size) =>
    `select x${list(size >> 4, () => '[offset(0)].a', '')} from (select array_agg(struct(id as a)) as x from edge_logs)`,
  'parts of an interval': (size) =>
    `select timestamp - interval '${list(size, () => '1 day', ' ')}' as x from edge_logs`,
  'keys of a sorted list': (size) =>
    `select array_agg(id order by ${list(size >> 2, () => 'm.a')}) as x from edge_logs, unnest(metadata) as m`,
  'EXISTS with fields': (size) =>
    `select id from edge_logs where ${list(size >> 3, () => "exists (select 1 from unnest(metadata) as m where m.a = 'b')", ' and ')}`,
  quotes: (size) => `select 'x${list(size, () => "''", '')}' as x`,
  comments: (size) => `select 1 as x ${list(size, () => '/**/', '')}`,
}

/** Counts how often V8 entered a function or a block of ours: the same in every run, unless code is optimized. */
class WorkCounter {
  readonly #session = new Session()

  async start(): Promise<void> {
    this.#session.connect()
    await this.#session.post('Profiler.enable')
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  /** Since it was asked before. One counter for all of them: starting it takes longer than a translation. */
  async of(sql: string): Promise<number> {
    outcome(sql)
    const { result } = await this.#session.post('Profiler.takePreciseCoverage')
    return result
      .filter(({ url }) => /\/src\/(?:features\/supabase|core\/sql|core\/base)\//.test(url))
      .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
      .reduce((sum, { count }) => sum + count, 0)
  }

  stop(): void {
    this.#session.disconnect()
  }
}

describe('the work of a translation', () => {
  const counter = new WorkCounter()
  beforeAll(() => {
    setFlagsFromString('--no-opt')
    return counter.start()
  })
  afterAll(() => {
    counter.stop()
    setFlagsFromString('--opt')
  })

  test.each(Object.entries(shapes))('grows no faster than the SQL: %s', async (_, shape) => {
    expect(outcome(shape(200))).toMatch(/^(?:WITH|SELECT)/)
    await counter.of(shape(8))
    const [small, large] = [await counter.of(shape(200)), await counter.of(shape(800))]
    expect(small).toBeGreaterThan(200)
    expect(large).toBeLessThan(4.5 * small)
  })
})

test('counts UNNESTs of a named subquery once, however often it is used', () => {
  const joins =
    'cross join unnest(metadata) as m cross join unnest(m.request) as r cross join unnest(r.headers) as h'
  const selects = list(9, () => `select id, r.path as path from edge_logs ${joins}`, ' union all ')
  const counts = list(15, (n) => `select '${n}' as kind, count(*) as n from some`, ' union all ')
  expect(
    outcome(`with unified as (${selects}), some as (select * from unified where path like '%a%') ${counts}`),
  ).toMatch(/^WITH/)
})

test('bare names of objects that Supabase sends are read from one place', () => {
  const names = ['request', 'sb', 'jwt', 'apikey', 'payload', 'authorization', 'headers', 'cf', 'response']
  const joins = list(names.length, (n) => `cross join unnest(${names[n]}) as u${n}`, ' ')
  const sql = outcome(
    `select path, u4.role, country, user_agent from edge_logs cross join unnest(metadata) as metadata ${joins} cross join unnest(u5.payload) as own`,
  )
  expect(sql).toMatch(/^SELECT/)
  expect(sql).toContain("T1.metadata, 'request', 'sb', 'jwt', 'apikey', 'payload', 'role'")
  expect(sql.length).toBeLessThan(10_000)
})
