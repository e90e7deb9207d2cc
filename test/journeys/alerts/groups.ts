import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type AlertStage, alertClient, types } from './alert-client.ts'

const services = {
  name: 'signals.services',
  query:
    'SELECT metadata.service::Nullable(String) AS service, argMax(metadata.level::Float64, timestamp) AS level ' +
    'FROM signals WHERE project = @project AND timestamp <= @now GROUP BY service HAVING level >= 0 ORDER BY service',
  parameters: { project: { required: true } },
}
const many = {
  name: 'signals.many',
  query: "SELECT concat('g', toString(number)) AS g, number AS n FROM numbers(1003)",
  max_rows: 2000,
  parameters: {},
}

interface Group {
  id: string
  key: Record<string, unknown>
  state: string
  value: number | null
  muted_until: string | null
}

export function groupJourneys(stage: AlertStage): void {
  const { service, receiver, time } = stage
  const { admin, create, show, next } = alertClient(stage)

  const put = async (project: string, levels: [unknown, number][]) => {
    const timestamp = new Date(time.now()).toISOString()
    const entries = levels.map(([name, level]) => ({
      project,
      metadata: { service: name, level },
      timestamp,
    }))
    expect((await admin('POST', '/api/logs?source=signals', entries)).body.accepted).toBe(levels.length)
    time.advance(1)
  }
  const groups = async (name: string) => (await admin('GET', `/api/alerts/${name}/groups`)).body as Group[]
  const states = async (name: string) =>
    Object.fromEntries((await groups(name)).map(({ key, state }) => [String(key.service), state]))
  const byService = { endpoint: services.name, by: ['service'] }
  const sent = (name: string, count: number) =>
    vi.waitFor(() => {
      const bodies = receiver()
        .at(`/${name}`)
        .map(({ body }) => body)
      expect(bodies).toHaveLength(count)
      return bodies[count - 1].data
    })
  const keysOf = (data: { groups: Group[] }) => data.groups.map(({ key, state }) => [key.service, state])

  describe('an alert by group', () => {
    beforeAll(async () => {
      for (const endpoint of [services, many])
        expect((await admin('POST', '/api/endpoints', endpoint)).status).toBe(201)
    })
    afterAll(async () => {
      for (const { name } of [services, many]) await admin('DELETE', `/api/endpoints/${name}`)
    })

    test('has a state for each group, and sends one notification for all that changed', async () => {
      const strange = `${'long'.repeat(2500)}\u0001`
      await put('by-each', [
        ['api', 20],
        ['web', 3],
        [null, 30],
        [strange, 40],
      ])
      await create('by-each', byService)
      const first = await sent('by-each', 1)
      expect(first.groups).toHaveLength(3)
      expect(first.groups.find(({ key }: Group) => key.service === 'api')).toEqual({
        ...{ key: { service: 'api' }, id: expect.stringMatching(/^[\w-]{22}$/), state: 'firing', value: 20 },
        since: expect.any(String),
      })
      expect(await states('by-each')).toMatchObject({ api: 'firing', web: 'ok', null: 'firing' })
      expect(await show('by-each')).toMatchObject({ state: 'firing', value: 3, groups_left_out: 0 })
      for (const { key } of first.groups) expect(JSON.stringify(key).length).toBeLessThan(300)

      await put('by-each', [
        ['api', 1],
        ['web', 50],
      ])
      await next('by-each')
      const second = await sent('by-each', 2)
      expect(keysOf(second)).toEqual([
        ['api', 'ok'],
        ['web', 'firing'],
      ])
      const ids = new Map((await groups('by-each')).map(({ key, id }) => [key.service, id]))
      expect(first.groups.find(({ key }: Group) => key.service === 'api').id).toBe(ids.get('api'))
      await next('by-each')
      expect(receiver().at('/by-each')).toHaveLength(2)

      const events = await vi.waitFor(async () => {
        const query =
          "SELECT metadata.key.service::String AS service, metadata.state::String AS state FROM alert_events WHERE metadata.alert::String = 'by-each' AND metadata.group_id IS NOT NULL AND metadata.key.service::String IN ('api', 'web') ORDER BY timestamp, id"
        const { result } = (await admin('POST', '/api/sql', { query })).body
        expect(result).toHaveLength(3)
        return result
      })
      expect(events).toEqual([
        { service: 'api', state: 'firing' },
        { service: 'api', state: 'ok' },
        { service: 'web', state: 'firing' },
      ])
    })

    test('keeps a group without rows for a while, then resolves and forgets it', async () => {
      await put('by-missing', [
        ['api', 20],
        ['web', 20],
      ])
      await create('by-missing', { ...byService, keep_missing: '1m' })
      await sent('by-missing', 1)
      await put('by-missing', [['web', -1]])
      await next('by-missing')
      await next('by-missing', 55)
      expect(await states('by-missing')).toEqual({ api: 'firing', web: 'firing' })
      await next('by-missing')
      expect(keysOf(await sent('by-missing', 2))).toEqual([['web', 'ok']])
      await next('by-missing')
      expect(await states('by-missing')).toEqual({ api: 'firing' })
    })

    test('mutes a group, and forgets nothing in a restart', async () => {
      await put('by-mute', [
        ['api', 20],
        ['web', 3],
      ])
      await create('by-mute', { ...byService, for_seconds: 5 })
      await next('by-mute')
      await sent('by-mute', 1)
      const web = (await groups('by-mute')).find(({ key }) => key.service === 'web') as Group
      const until = new Date(time.wall.now() + 60_000).toISOString()
      const path = `/api/alerts/by-mute/groups/${web.id}/mute`
      expect((await admin('POST', path, { until })).body).toMatchObject({ id: web.id, muted_until: until })
      const api = (await groups('by-mute')).find(({ key }) => key.service === 'api') as Group
      const apiPath = `/api/alerts/by-mute/groups/${api.id}/mute`
      await Promise.all([admin('POST', path, { until }), admin('POST', apiPath, { until })])
      expect((await groups('by-mute')).map(({ muted_until }) => muted_until)).toEqual([until, until])
      await admin('POST', apiPath, { until: null })
      expect((await admin('POST', path, { until: 'soon' })).status).toBe(400)
      expect((await admin('POST', '/api/alerts/by-mute/groups/none/mute', { until })).status).toBe(404)
      await put('by-mute', [['web', 20]])
      await next('by-mute')
      await next('by-mute')
      expect(await states('by-mute')).toEqual({ api: 'firing', web: 'firing' })
      expect(receiver().at('/by-mute')).toHaveLength(1)
      expect((await groups('by-mute')).map(({ muted_until }) => muted_until)).toEqual([null, until])
      await next('by-mute', 60)
      expect(keysOf(await sent('by-mute', 2))).toEqual([['web', 'firing']])
    })

    test('evaluates 1,000 groups, and reports that there are more', async () => {
      await create('by-many', { endpoint: many.name, parameters: {}, by: ['g'], when: 'any(n) >= 0' })
      const { groups: told } = await sent('by-many', 1)
      expect(told).toHaveLength(1000)
      expect(told[999].key).toEqual({ g: 'g999' })
      expect(await show('by-many')).toMatchObject({ groups_left_out: 3, value: 1000 })
      await next('by-many')
      await vi.waitFor(async () => {
        const query =
          "SELECT metadata.groups_left_out::Int64 AS n FROM alert_events WHERE metadata.alert::String = 'by-many' AND metadata.groups_left_out IS NOT NULL"
        expect((await admin('POST', '/api/sql', { query })).body.result).toEqual([{ n: 3 }])
      })
    })

    test('writes entries for 100 of 1,000 groups that change, and one with the number of the others', async () => {
      await create('by-entries', { endpoint: many.name, parameters: {}, by: ['g'], when: 'any(n) >= 0' })
      await vi.waitFor(async () => {
        const query =
          "SELECT countIf(metadata.group_id IS NOT NULL) AS groups, maxIf(event_message, metadata.changes_left_out IS NOT NULL) AS others FROM alert_events WHERE metadata.alert::String = 'by-entries'"
        const others = 'by-entries changed for 1000 groups; 900 of the changes have no entry'
        expect((await admin('POST', '/api/sql', { query })).body.result).toEqual([{ groups: 100, others }])
      })
    })

    test('resolves its groups when it is deleted, and is failing as a whole', async () => {
      await put('by-end', [['api', 20]])
      await create('by-end', byService)
      await sent('by-end', 1)
      await admin('DELETE', '/api/alerts/by-end')
      expect(keysOf(await sent('by-end', 2))).toEqual([['api', 'ok']])
      expect(types(receiver().at('/by-end'))).toEqual(['alert.firing', 'alert.resolved'])
    })

    test('refuses columns that the result does not have, also when the endpoint loses them', async () => {
      const alert = {
        name: 'by-bad',
        endpoint: services.name,
        parameters: { project: 'x' },
        when: 'rows > 0',
      }
      for (const by of [['nowhere'], ['service', 'service'], ['a', 'b', 'c', 'd'], 'service', [7]]) {
        const { status, body } = await admin('POST', '/api/alerts', { ...alert, by })
        expect([status, body.error.parameter]).toEqual([400, expect.stringMatching(/^by/)])
      }
      expect((await admin('POST', '/api/alerts', { ...alert, keep_missing: 'long' })).status).toBe(400)
      expect((await admin('POST', '/api/alerts', { ...alert, by: ['service'] })).status).toBe(201)
      const query = services.query
        .replace('AS service', 'AS other')
        .replace('GROUP BY service', 'GROUP BY other')
        .replace('ORDER BY service', 'ORDER BY other')
      const { status, body } = await admin('PATCH', `/api/endpoints/${services.name}`, { query })
      expect([status, JSON.stringify(body)]).toEqual([409, expect.stringContaining('by-bad')])
      const test = (await admin('POST', '/api/alerts/by-bad/test')).body
      expect(test.groups).toEqual([])
      expect(service()).toBeDefined()
    })
  })
}
