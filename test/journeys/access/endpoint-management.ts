import { describe, expect, test } from 'vitest'
import { ask } from '../../support/callers.ts'
import type { RunningService } from '../../support/service.ts'

const seeded = ['functions.invocation-stats', 'logs.all', 'usage.api-counts']

export function endpointManagementJourneys(running: () => RunningService): void {
  const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    ask(running(), running().adminToken.token, method, path, body, headers)
  const call = async (name: string) => (await admin('GET', `/api/endpoints/query/${name}`)).body

  describe('managing endpoints', () => {
    test('the three shipped endpoints exist with their configuration', async () => {
      const { body } = await admin('GET', '/api/endpoints')
      const shown = body.filter(({ name }: { name: string }) => seeded.includes(name))
      expect(shown.map(({ name }: { name: string }) => name)).toEqual(seeded)
      for (const endpoint of shown) {
        const cached = endpoint.name !== 'logs.all'
        expect(endpoint).toMatchObject({
          max_rows: 1000,
          cache_seconds: cached ? 900 : null,
          warm_seconds: cached ? 300 : null,
          sandbox: false,
          strict: false,
          version: 1,
          updated_by: 'wellhead',
        })
      }
    })

    test('creating, changing, restoring and deleting an endpoint each makes a new version', async () => {
      const made = await admin('POST', '/api/endpoints', { name: 'greet', query: "SELECT 'one' AS word;" })
      expect(made.status).toBe(201)
      expect(made.headers.get('etag')).toBe('"1"')
      expect(made.headers.get('location')).toBe(`/api/endpoints/${made.body.id}`)
      expect(made.body).toMatchObject({
        query: "SELECT 'one' AS word",
        max_rows: 1000,
        version: 1,
        updated_by: 'admin',
        columns: [{ name: 'word', type: 'String' }],
      })
      expect(await call('greet')).toEqual({ result: [{ word: 'one' }] })
      expect(await call(made.body.id.toUpperCase())).toEqual({ result: [{ word: 'one' }] })

      const changed = await admin('PATCH', '/api/endpoints/greet', { query: "SELECT 'two' AS word" })
      expect(changed).toMatchObject({ status: 200, body: { version: 2, id: made.body.id } })
      expect(await call('greet')).toEqual({ result: [{ word: 'two' }] })
      expect(await call('greet?_version=1')).toEqual({ result: [{ word: 'one' }] })
      expect((await admin('GET', '/api/endpoints/query/greet?_version=3')).status).toBe(400)

      const renamed = await admin('PUT', `/api/endpoints/${made.body.id}?breaking=true`, {
        ...changed.body,
        name: 'greet.all',
      })
      expect(renamed.body).toMatchObject({ name: 'greet.all', version: 3 })
      expect((await admin('GET', '/api/endpoints/query/greet')).status).toBe(404)

      const restored = await admin('POST', '/api/endpoints/greet.all/versions/1/restore?breaking=true')
      expect(restored.body).toMatchObject({ name: 'greet', version: 4, query: "SELECT 'one' AS word" })
      const versions = (await admin('GET', '/api/endpoints/greet/versions')).body
      expect(versions.map(({ version, name }: { version: number; name: string }) => [version, name])).toEqual(
        [
          [4, 'greet'],
          [3, 'greet.all'],
          [2, 'greet'],
          [1, 'greet'],
        ],
      )
      expect(versions[0]).toMatchObject({ updated_by: 'admin', created_at: made.body.created_at })

      await admin('PATCH', '/api/endpoints/greet?breaking=true', { strict: true })
      expect((await admin('GET', '/api/endpoints/query/greet?word=x&_strict=0')).body).toMatchObject({
        error: { code: 'invalid_parameter', parameter: 'word' },
      })

      expect((await admin('DELETE', '/api/endpoints/greet')).status).toBe(204)
      expect((await admin('GET', '/api/endpoints/query/greet')).status).toBe(404)
      const again = await admin('POST', '/api/endpoints', { name: 'greet', query: 'SELECT 3 AS word' })
      expect(again.body).toMatchObject({ version: 1 })
      expect(again.body.id).not.toBe(made.body.id)
      expect((await admin('GET', `/api/endpoints/${made.body.id}`)).status).toBe(404)
      await admin('DELETE', '/api/endpoints/greet')
    })

    test('If-Match guards against lost updates', async () => {
      await admin('POST', '/api/endpoints', { name: 'guarded', query: 'SELECT 1 AS one' })
      const path = '/api/endpoints/guarded'
      const both = await Promise.all(
        ['first', 'second'].map((description) =>
          admin('PATCH', path, { description }, { 'If-Match': '"1"' }),
        ),
      )
      expect(both.map(({ status }) => status).sort()).toEqual([200, 412])
      expect(both.find(({ status }) => status === 412)?.body.error.code).toBe('version_conflict')
      for (const method of ['PUT', 'DELETE']) {
        const body = method === 'PUT' ? { name: 'guarded', query: 'SELECT 2 AS two' } : undefined
        expect((await admin(method, path, body, { 'If-Match': '"1"' })).status).toBe(412)
      }
      expect((await admin('DELETE', path, undefined, { 'If-Match': 'two' })).status).toBe(400)
      expect((await admin('DELETE', path, undefined, { 'If-Match': '"2"' })).status).toBe(204)
    })

    test('PUT, PATCH and restore refuse changes that break callers, unless they are allowed', async () => {
      const one = { name: 'contract', query: "SELECT 1 AS n, 'a' AS word" }
      const less = { name: 'contract', query: 'SELECT 1 AS n' }
      const path = '/api/endpoints/contract'
      await admin('POST', '/api/endpoints', one)
      const changes = [
        {
          definition: 'endpoints/contract',
          endpoint: 'contract',
          kind: 'column_removed',
          breaking: true,
          column: 'word',
          message: 'Column word was removed.',
        },
      ]
      const doors: [method: string, path: string, body?: object][] = [
        ['PUT', path, less],
        ['PATCH', path, { query: less.query }],
        ['POST', `${path}/versions/1/restore`],
      ]
      for (const [index, [method, address, body]] of doors.entries()) {
        // The last door restores the columns of the second version.
        if (index === 2) await admin('PATCH', path, { query: "SELECT 1 AS n, 'a' AS word, 2 AS more" })
        const { version } = (await admin('GET', path)).body
        for (const suffix of ['', '?breaking=false']) {
          const refused = await admin(method, address + suffix, body)
          const kept =
            index === 2 ? [{ ...changes[0], column: 'more', message: 'Column more was removed.' }] : changes
          expect([refused.status, refused.body.error.code]).toEqual([409, 'breaking_change'])
          expect(refused.body.error.changes).toEqual(kept)
          expect(refused.body.error.message).toBe(
            'A change would break callers, so nothing was changed. Set breaking=true to change it anyway.',
          )
        }
        for (const suffix of ['?breaking=maybe', '?breaking=', '?breaking=true&breaking=true']) {
          const malformed = await admin(method, address + suffix, body)
          expect([suffix, malformed.status, malformed.body.error.parameter]).toEqual([
            suffix,
            400,
            'breaking',
          ])
        }
        expect((await admin('GET', path)).body.version).toBe(version)
        const allowed = await admin(method, `${address}?breaking=true`, body)
        expect([allowed.status, allowed.body.version]).toEqual([200, version + 1])
        await admin('PUT', path, one)
      }
      expect((await admin('PATCH', path, { description: 'compatible' })).status).toBe(200)
      await admin('DELETE', path)
    })

    test('of concurrent compatible changes, one is refused if it breaks what the other added', async () => {
      await admin('POST', '/api/endpoints', { name: 'grown', query: 'SELECT 1 AS n' })
      const both = await Promise.all(
        ['left', 'right'].map((name) =>
          admin('PATCH', '/api/endpoints/grown', { query: `SELECT 1 AS n, 'a' AS ${name}` }),
        ),
      )
      expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
      expect(both.find(({ status }) => status === 409)?.body.error).toMatchObject({
        code: 'breaking_change',
        changes: [{ kind: 'column_renamed' }],
      })
      await admin('DELETE', '/api/endpoints/grown')
    })

    test('of concurrent requests for the same name, one succeeds', async () => {
      const claims = await Promise.all(
        Array.from({ length: 5 }, (_, i) =>
          admin('POST', '/api/endpoints', { name: 'claimed', query: `SELECT ${i} AS i` }),
        ),
      )
      expect(claims.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409])
      expect(claims.find(({ status }) => status === 409)?.body.error.code).toBe('name_taken')
      expect((await admin('PATCH', '/api/endpoints/claimed', { name: 'logs.all' })).body.error.code).toBe(
        'name_taken',
      )
      await admin('DELETE', '/api/endpoints/claimed')
    })

    test('an SQL error has the same message, line and column in every route', async () => {
      await admin('POST', '/api/endpoints', { name: 'placed', query: 'SELECT 1 AS one' })
      for (const query of [
        'SELECT 1 AS one\n  FROM edge_logs t WHER n',
        '\n\n  SELECT nothing_like_it FROM edge_logs',
        'SELECT id,\n  noSuchFunction(id) FROM edge_logs',
      ]) {
        const checked = await admin('POST', '/api/endpoints/check', { name: 'placed', query })
        const { request_id: _, ...expected } = checked.body.error
        expect([checked.status, expected.line, expected.column]).toEqual([
          422,
          expect.any(Number),
          expect.any(Number),
        ])
        for (const [method, path] of [
          ['POST', '/api/endpoints'],
          ['PUT', '/api/endpoints/placed'],
          ['PATCH', '/api/endpoints/placed'],
        ] as const) {
          const name = method === 'POST' ? 'placed.new' : 'placed'
          const { status, body } = await admin(method, path, { name, query })
          expect([method, status, body.error]).toEqual([
            method,
            422,
            { ...expected, request_id: expect.any(String) },
          ])
        }
        const deployed = await admin('POST', '/api/deployments', { endpoints: [{ name: 'placed', query }] })
        expect(deployed.body.error).toMatchObject({ line: expected.line, column: expected.column })
      }
      await admin('DELETE', '/api/endpoints/placed')
    })

    test('parameter values are returned in the type of the parameter and can be sent back', async () => {
      const parameters = {
        most: { type: 'integer', default: 100, example: 5, enum: [5, 100] },
        share: { type: 'number', default: 0.5 },
        exact: { type: 'boolean', default: false },
        word: { default: '7' },
        // As text: a double cannot hold the first, and would drop the zero of the second.
        large: { type: 'integer', default: '9007199254740993' },
        price: { type: 'number', default: '1.10' },
      }
      const query = 'SELECT @most AS a, @share AS b, @exact AS c, @word AS d, @large AS e, @price AS f'
      const made = await admin('POST', '/api/endpoints', { name: 'typed', query, parameters })
      expect(made.body.parameters).toMatchObject(parameters)
      expect((await call('typed')).result).toEqual([
        { a: 100, b: 0.5, c: false, d: '7', e: '9007199254740993', f: 1.1 },
      ])
      expect((await admin('GET', '/api/endpoints/typed')).body.parameters).toMatchObject(parameters)
      const { endpoints } = (await admin('GET', '/api/whoami')).body
      const own = endpoints.find(({ name }: { name: string }) => name === 'typed')
      expect(own.parameters).toMatchObject(parameters)
      const deployed = await admin('POST', '/api/deployments', { endpoints: [made.body], dry_run: true })
      expect(deployed.body.endpoints).toMatchObject([{ action: 'unchanged' }])
      await admin('DELETE', '/api/endpoints/typed')
    })

    test('all times have milliseconds', async () => {
      const milliseconds = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      const times = { created_at: milliseconds, updated_at: milliseconds }
      for (const path of ['endpoints', 'endpoints/logs.all/versions', 'sources', 'access-tokens']) {
        for (const one of (await admin('GET', `/api/${path}`)).body) expect(one).toMatchObject(times)
      }
    })

    test('lone surrogates are refused in every stored text', async () => {
      const endpoint = { name: 'bad', query: 'SELECT @a AS a' }
      const half = 'a\ud800'
      for (const [method, path, body, parameter] of [
        ['POST', 'endpoints', { ...endpoint, description: half }, 'description'],
        ['POST', 'endpoints', { ...endpoint, query: `SELECT '${half}'` }, 'query'],
        ['POST', 'endpoints', { ...endpoint, parameters: { a: { default: half } } }, 'parameters.a.default'],
        ['PATCH', 'endpoints/logs.all', { description: half }, 'description'],
        ['POST', 'endpoints/check', { ...endpoint, query: `SELECT '${half}'` }, 'query'],
        ['POST', 'endpoints/preview', { endpoint, parameters: { a: half } }, 'parameters.a'],
        [
          'POST',
          'deployments',
          { endpoints: [{ ...endpoint, description: half }] },
          'endpoints.0.description',
        ],
        ['POST', 'sources', { name: 'bad_source', description: half }, 'description'],
        ['PATCH', 'sources/edge_logs', { description: half }, 'description'],
      ] as const) {
        const refused = await admin(method, `/api/${path}`, body)
        expect([path, refused.status, refused.body.error.code, refused.body.error.parameter]).toEqual([
          path,
          400,
          'invalid_parameter',
          parameter,
        ])
      }
    })

    test('an invalid endpoint is refused with the name of the field, and nothing is stored', async () => {
      const cases: [unknown, number, string | undefined][] = [
        ['[]', 400, undefined],
        [{ query: 'SELECT 1' }, 400, 'name'],
        [{ name: '1x', query: 'SELECT 1' }, 400, 'name'],
        [{ name: 'bad' }, 400, 'query'],
        [{ name: 'bad', query: 'SELECT 1', max_rows: 10_001 }, 400, 'max_rows'],
        [{ name: 'bad', query: 'SELECT 1', warm_seconds: 10 }, 400, 'warm_seconds'],
        [{ name: 'bad', query: 'SELECT 1', colour: 'red' }, 400, 'colour'],
        [{ name: 'bad', query: 'SELECT nothing FROM edge_logs' }, 422, undefined],
        [{ name: 'bad', query: 'SELECT 1; SELECT 2' }, 422, undefined],
        [{ name: 'bad', query: 'SELECT * FROM system.tables' }, 422, undefined],
      ]
      for (const [body, status, parameter] of cases) {
        const refused = await admin('POST', '/api/endpoints', body)
        expect([refused.status, refused.body.error.parameter], JSON.stringify(body)).toEqual([
          status,
          parameter,
        ])
      }
      expect((await admin('GET', '/api/endpoints/bad')).status).toBe(404)
    })
  })
}
