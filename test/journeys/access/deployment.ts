import { describe, expect, test } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import type { RunningService } from '../../support/service.ts'

interface Deployed {
  name: string
  action: string
  version: number
}

export function deploymentJourneys(running: () => RunningService): void {
  const admin = (method: string, path: string, body?: unknown) =>
    ask(running(), running().adminToken.token, method, path, body)
  const deploy = (endpoints: unknown, more: object = {}) =>
    admin('POST', '/api/deployments', { endpoints, ...more })
  const outcome = ({ body }: { body: { endpoints: Deployed[] } }) =>
    body.endpoints.map(({ name, action, version }) => `${name} ${action} ${version}`)
  const versionOf = async (name: string) => (await admin('GET', `/api/endpoints/${name}`)).body.version ?? 0
  const remove = async (...names: string[]) => {
    for (const name of names) await admin('DELETE', `/api/endpoints/${name}`)
  }
  const one = { name: 'set.one', query: 'SELECT 1 AS n' }
  const two = { name: 'set.two', query: 'SELECT 2 AS n', max_rows: 5 }

  describe('deployments', () => {
    test('creates, updates and leaves endpoints unchanged, and a dry run changes nothing', async () => {
      const trial = await deploy([one, two], { dry_run: true })
      expect([trial.status, trial.body.dry_run]).toEqual([200, true])
      expect(outcome(trial)).toEqual(['set.one created 1', 'set.two created 1'])
      expect(await versionOf('set.one')).toBe(0)
      const made = await deploy([one, { ...two, expected_version: 0 }])
      expect(outcome(made)).toEqual(outcome(trial))
      expect((await admin('GET', '/api/endpoints/query/set.two')).body.result).toEqual([{ n: 2 }])
      // A response can be sent back as a request.
      const { body: read } = await admin('GET', '/api/endpoints/set.one')
      const changed = await deploy([read, { ...two, query: 'SELECT 3 AS n', expected_version: 1 }])
      expect(outcome(changed)).toEqual(['set.one unchanged 1', 'set.two updated 2'])
      expect(changed.body.endpoints[1].changes).toEqual([
        { kind: 'query_changed', breaking: false, message: expect.any(String) },
      ])
      expect((await admin('GET', '/api/endpoints/query/set.two')).body.result).toEqual([{ n: 3 }])
      expect(outcome(await deploy([]))).toEqual([])
      await remove('set.one', 'set.two')
    })

    test('breaking changes are listed and refused, unless they are allowed', async () => {
      await deploy([one, two])
      const breaking = [
        { ...one, description: 'x' },
        { name: 'set.two', query: "SELECT 'a' AS m" },
      ]
      const refused = await deploy(breaking)
      expect([refused.status, refused.body.error.code]).toEqual([409, 'breaking_change'])
      expect(refused.body.error.changes).toEqual([
        {
          definition: 'endpoints/set.two',
          endpoint: 'set.two',
          kind: 'column_removed',
          breaking: true,
          column: 'n',
          message: expect.any(String),
        },
      ])
      expect([await versionOf('set.one'), await versionOf('set.two')]).toEqual([1, 1])
      const trial = await deploy(breaking, { dry_run: true })
      expect(trial.body.endpoints[1].changes.map(({ kind }: { kind: string }) => kind)).toEqual([
        'column_removed',
        'column_added',
        'max_rows_raised',
        'query_changed',
      ])
      expect(outcome(await deploy(breaking, { allow_breaking: true }))).toEqual([
        'set.one updated 2',
        'set.two updated 2',
      ])
      await remove('set.one', 'set.two')
    })

    test('one invalid endpoint fails the whole deployment and is named', async () => {
      await deploy([one])
      const good = { ...one, description: 'other' }
      const cases: [unknown[], number, object][] = [
        [
          [good, { name: 'set.bad', query: 'SELECT 1 AS n\nFROM edge_logs t WHER n' }],
          422,
          { endpoint: 'set.bad', line: 2, column: 18 },
        ],
        [[good, { ...two, max_rows: 0 }], 400, { endpoint: 'set.two', parameter: 'endpoints.1.max_rows' }],
        [[good, { query: 'SELECT 1' }], 400, { parameter: 'endpoints.1.name' }],
        [
          [good, { ...two, id: '00000000-0000-4000-8000-000000000001', name: 'logs.all' }],
          409,
          { endpoint: 'logs.all' },
        ],
        [[good, good], 400, { parameter: 'endpoints.1.id' }],
        [[good, two, two], 400, { parameter: 'endpoints.2.name' }],
        [[good, { ...two, expected_version: 1 }], 412, { endpoint: 'set.two' }],
        [[{ ...good, expected_version: 0 }], 412, { endpoint: 'set.one' }],
        [[{ ...good, expected_version: -1 }], 400, { endpoint: 'set.one' }],
        [[good, 'no endpoint'], 400, {}],
      ]
      for (const [endpoints, status, details] of cases) {
        for (const dry_run of [true, false]) {
          const { status: actual, body } = await deploy(endpoints, { dry_run })
          expect([actual, body.error], JSON.stringify(endpoints)).toMatchObject([status, details])
        }
      }
      expect((await deploy([good], { colour: 'red' })).status).toBe(400)
      expect((await deploy(Array.from({ length: 501 }, () => good))).status).toBe(400)
      expect([await versionOf('set.one'), await versionOf('set.two')]).toEqual([1, 0])
      const { body } = await admin('GET', '/api/endpoints/set.one')
      await remove('set.one')
      const gone = await deploy([{ ...one, id: body.id }])
      expect([gone.status, gone.body.error.message]).toEqual([
        409,
        expect.stringMatching(/was deleted and cannot be used again/),
      ])
    })

    test('endpoints can swap names within a deployment', async () => {
      const made = await deploy([one, two])
      const [first, second] = made.body.endpoints.map(({ id }: { id: string }) => id)
      const swapped = await deploy(
        [
          { ...one, id: first, name: 'set.two' },
          { ...two, id: second, name: 'set.one' },
        ],
        { allow_breaking: true },
      )
      expect(outcome(swapped)).toEqual(['set.two updated 2', 'set.one updated 2'])
      expect((await admin('GET', '/api/endpoints/query/set.one')).body.result).toEqual([{ n: 2 }])
      await remove('set.one', 'set.two')
    })

    test('an editor deploys with sources that stay the same, a token with deploy also changes sources, and nobody but admins deletes them', async () => {
      const { id: editor, token: edit } = await makeToken(running(), { scopes: ['edit'] })
      const { id: ci, token: deploying } = await makeToken(running(), { scopes: ['deploy'] })
      const source = { name: 'set_source', retention_days: 7, columns: [] }
      const deployed = async (token: string, body: object) => {
        const answer = await ask(running(), token, 'POST', '/api/deployments', body)
        const { sources, error } = answer.body
        return [answer.status, error?.message ?? sources.map(({ action }: { action: string }) => action)]
      }
      const refusal = (verb: string, scope: string) => [
        403,
        `set_source: ${verb} sources requires a token with the scope ${scope}.`,
      ]
      const created = {
        sources: [source],
        endpoints: [{ name: 'set.one', query: 'SELECT id FROM set_source' }],
      }
      for (const dry_run of [true, false]) {
        expect(await deployed(edit, { ...created, dry_run })).toEqual(refusal('Creating', 'deploy'))
      }
      expect((await admin('GET', '/api/sources/set_source')).status).toBe(404)
      expect(await deployed(deploying, created)).toEqual([200, ['created']])
      expect((await admin('GET', '/api/sources/set_source')).body.updated_by).toBe(ci)
      const described = { ...created.endpoints[0], description: 'by an editor' }
      expect(await deployed(edit, { ...created, endpoints: [described] })).toEqual([200, ['unchanged']])
      expect((await admin('GET', '/api/endpoints/set.one')).body.updated_by).toBe(editor)
      const changed = { sources: [{ ...source, retention_days: 8 }] }
      expect(await deployed(edit, changed)).toEqual(refusal('Changing', 'deploy'))
      expect(await deployed(deploying, changed)).toEqual([200, ['updated']])
      for (const token of [edit, deploying]) {
        const deletion = { delete: { sources: ['set_source'], endpoints: ['set.one'] } }
        expect(await deployed(token, deletion)).toEqual(refusal('Deleting', 'admin'))
        for (const [method, path] of [
          ['DELETE', '/api/sources/set_source?confirm=set_source'],
          ['POST', '/api/access-tokens'],
          ['GET', '/api/access-tokens'],
          ['GET', '/api/people'],
          ['GET', '/api/backup'],
        ] as const) {
          expect([path, (await ask(running(), token, method, path, undefined)).status]).toEqual([path, 403])
        }
      }
      const patch = (token: string) =>
        ask(running(), token, 'PATCH', '/api/sources/set_source', { description: 'x' })
      expect([(await patch(edit)).status, (await patch(deploying)).status]).toEqual([403, 200])
      const { role } = (await ask(running(), deploying, 'GET', '/api/whoami')).body
      expect(role).toBe('editor')
      await remove('set.one')
      expect((await admin('DELETE', '/api/sources/set_source?confirm=set_source')).status).toBe(204)
    })

    test('of two concurrent deployments with the same expected versions, one succeeds and the other changes nothing', async () => {
      await deploy([one, two])
      const expecting = (mark: number, extra: string) =>
        deploy([
          { ...one, description: `${mark}`, expected_version: 1 },
          { ...two, description: `${mark}`, expected_version: 1 },
          { name: extra, query: 'SELECT 1 AS n' },
        ])
      const both = await Promise.all([expecting(1, 'set.three'), expecting(2, 'set.four')])
      expect(both.map(({ status }) => status).sort()).toEqual([200, 412])
      const won = both.findIndex(({ status }) => status === 200)
      const list: { name: string; description: string }[] = (await admin('GET', '/api/endpoints')).body
      const there = list.filter(({ name }) => name.startsWith('set.'))
      expect(there.map(({ name }) => name)).toEqual(
        ['set.one', ['set.three', 'set.four'][won], 'set.two'].sort(),
      )
      const marks = there.map(({ description }) => description).filter(Boolean)
      expect(marks).toEqual([`${won + 1}`, `${won + 1}`])
      // Without expected versions both succeed, one after the other.
      const free = await Promise.all([3, 4].map((mark) => deploy([{ ...one, description: `${mark}` }])))
      expect(free.map(({ status }) => status)).toEqual([200, 200])
      await remove('set.one', 'set.two', 'set.three', 'set.four')
    })
  })
}
