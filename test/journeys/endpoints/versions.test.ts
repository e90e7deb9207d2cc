import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { queryText } from '../../../src/core/engine/json-rows.ts'
import { ask, makeToken } from '../../support/callers.ts'
import { runCommand } from '../../support/command.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import type { RunningService } from '../../support/service.ts'
import { sharedService } from '../../support/shared-service.ts'

let service: RunningService
const files = scratchDirectory()
const admin = (method: string, path: string, body?: unknown) =>
  ask(service, service.adminToken.token, method, path, body)
const endpoints = '/api/endpoints'
const fields = (name: string) => ({ name, query: 'SELECT 1 AS n' })
const notesOf = async (name: string) => {
  const { body } = await admin('GET', `${endpoints}/${name}/versions`)
  return body.map(({ version, note }: { version: number; note: string }) => `${version} ${note}`)
}
const run = (...args: string[]) =>
  runCommand(args, {
    cwd: files.path,
    environment: { WELLHEAD_URL: service.url, WELLHEAD_TOKEN: service.adminToken.token },
  })

sharedService((shared) => {
  service = shared
})
afterAll(() => files.remove())

describe('a note', () => {
  test('is stored with the version that it was sent with', async () => {
    const created = await admin('POST', `${endpoints}?note=first`, fields('noted'))
    expect([created.status, created.body.note]).toEqual([201, 'first'])
    const changes = [
      admin.bind(null, 'PATCH', `${endpoints}/noted?note=${encodeURIComponent('größer 🎉')}`, {
        max_rows: 2000,
      }),
      admin.bind(null, 'PUT', `${endpoints}/noted?breaking=true`, { ...created.body, note: 'read-only' }),
      admin.bind(null, 'POST', `${endpoints}/noted/versions/2/restore?note=back`),
    ]
    for (const change of changes) expect((await change()).status).toBe(200)
    expect(await notesOf('noted')).toEqual(['4 back', '3 ', '2 größer 🎉', '1 first'])
    expect((await admin('GET', `${endpoints}/noted`)).body.note).toBe('back')
  })

  test('of a deployment is stored with each endpoint that it changes', async () => {
    await admin('POST', `${endpoints}?note=mine`, fields('noted.unchanged'))
    const deployed = [fields('noted.unchanged'), { ...fields('noted.deployed'), chart: { type: 'number' } }]
    const { status, body } = await admin('POST', '/api/deployments', { endpoints: deployed, note: 'all' })
    expect([status, body.endpoints.map(({ action }: { action: string }) => action)]).toEqual([
      200,
      ['unchanged', 'created'],
    ])
    expect([...(await notesOf('noted.unchanged')), ...(await notesOf('noted.deployed'))]).toEqual([
      '1 mine',
      '1 all',
    ])
    const change = { endpoints: [{ ...fields('noted.deployed'), chart: { type: 'table', y: ['n'] } }] }
    expect((await admin('POST', '/api/deployments', change)).body.endpoints[0].changes).toEqual([
      { kind: 'chart_changed', breaking: false, message: 'The chart of the endpoint changed.' },
    ])
  })

  test('that is too long or not text is refused', async () => {
    const long = 'x'.repeat(501)
    const refusals = [
      await admin('POST', `${endpoints}?note=${long}`, fields('refused')),
      await admin('POST', `${endpoints}?note=a&note=b`, fields('refused')),
      await admin('POST', '/api/deployments', { endpoints: [fields('refused')], note: long }),
      await admin('POST', '/api/deployments', `{"endpoints":[],"note":"\\ud800"}`),
    ]
    expect(refusals.map(({ status, body }) => [status, body.error.parameter, body.error.message])).toEqual([
      [400, 'note', 'note must have at most 500 characters.'],
      [400, 'note', 'note must be text.'],
      [400, 'note', 'Field "note" must have at most 500 characters.'],
      [400, 'note', 'Field "note" must be valid Unicode; it contains half of a surrogate pair.'],
    ])
    expect((await admin('GET', `${endpoints}/refused`)).status).toBe(404)
  })

  test('can be sent and read with the CLI', async () => {
    mkdirSync(join(files.path, 'endpoints'))
    const header = 'id: 1d6f0c5e-6a0b-4f43-9a56-6f2c1b7d90e1\nchart: { type: number, y: [n] }\n'
    const write = (n: number) =>
      writeFileSync(join(files.path, 'endpoints/from.file.sql'), `/*\n${header}*/\nSELECT ${n} AS n\n`)
    write(1)
    expect(await run('deploy', '.', '--note', 'from a file')).toMatchObject({ code: 0 })
    write(2)
    expect(await run('deploy', '.')).toMatchObject({ code: 0 })
    const restore = `${endpoints}/from.file/versions/1/restore?note=one%20again`
    expect((await admin('POST', restore)).status).toBe(200)
    expect(await notesOf('from.file')).toEqual(['3 one again', '2 ', '1 from a file'])
    expect((await run('endpoint', 'versions', 'from.file')).stdout).toContain('one again')
    const { stdout } = await run('diff', '.')
    expect(stdout).toContain('-SELECT 1 AS n')
    // What else the service has is listed below, with any names.
    const [changes] = stdout.split('only on the service: ')
    expect(changes).not.toContain('chart')
    expect(await run('pull', 'from.file', '--directory', 'pulled')).toMatchObject({ code: 0 })
    expect(await run('diff', 'pulled', '--exit-code')).toMatchObject({ code: 0 })
    const pulled = readFileSync(join(files.path, 'pulled/endpoints/from.file.sql'), 'utf8')
    expect(pulled).toContain('chart:\n  type: number\n  y:\n    - n\n')
  })
})

describe('a renamed endpoint', () => {
  const rename = (from: string, to: string, breaking = true) =>
    admin('PATCH', `${endpoints}/${from}?breaking=${breaking}`, { name: to })

  test('keeps its id and versions, and is found by the new name', async () => {
    const { id } = (await admin('POST', endpoints, fields('old.name'))).body
    const refused = await rename('old.name', 'new.name', false)
    expect([refused.status, refused.body.error.changes]).toEqual([
      409,
      [
        {
          definition: 'endpoints/old.name',
          endpoint: 'old.name',
          kind: 'endpoint_renamed',
          breaking: true,
          message:
            'The endpoint was renamed to new.name; requests to old.name fail, requests by id still work. ' +
            'Tokens with the scope query:old.name need query:new.name.',
        },
      ],
    ])
    expect((await rename('old.name', 'new.name')).body).toMatchObject({ id, name: 'new.name', version: 2 })
    const status = async (path: string) => (await admin('GET', `${endpoints}/query/${path}`)).status
    expect([await status('new.name'), await status(id), await status('new.name?_version=1')]).toEqual([
      200, 200, 200,
    ])
    expect(await status('old.name')).toBe(404)
    expect(await notesOf('new.name')).toHaveLength(2)
    const back = await admin('POST', `${endpoints}/new.name/versions/1/restore?breaking=true`)
    expect(back.body).toMatchObject({ id, name: 'old.name', version: 3 })
  })

  test('is called by tokens with the scope of its new name only', async () => {
    await admin('POST', endpoints, fields('scoped.old'))
    const [former, present] = [
      await makeToken(service, { scopes: ['query:scoped.old'] }),
      await makeToken(service, { scopes: ['query:scoped.new'] }),
    ]
    const { id } = (await rename('scoped.old', 'scoped.new')).body
    const statusFor = async (token: string, reference: string) =>
      (await ask(service, token, 'GET', `${endpoints}/query/${reference}`)).status
    expect([await statusFor(former.token, 'scoped.new'), await statusFor(former.token, id)]).toEqual([
      403, 403,
    ])
    expect([await statusFor(present.token, 'scoped.new'), await statusFor(present.token, id)]).toEqual([
      200, 200,
    ])
  })

  test('cannot take the name of another, even at the same time', async () => {
    for (const name of ['rival.one', 'rival.two', 'rival.three']) await admin('POST', endpoints, fields(name))
    expect((await rename('rival.one', 'rival.two')).body.error.code).toBe('name_taken')
    const outcomes = await Promise.all(
      ['rival.one', 'rival.two'].map(async (name) => (await rename(name, 'rival.new')).status),
    )
    expect(outcomes.toSorted()).toEqual([200, 409])
    expect((await rename('rival.three', 'not a name')).body.error.parameter).toBe('name')
  })
})

describe('what is deleted', () => {
  test('leaves little in the catalog, and its id cannot be used again', async () => {
    const description = 'long '.repeat(20_000)
    const ids: string[] = []
    for (let round = 0; round < 6; round++) {
      const { body } = await admin('POST', endpoints, { ...fields('deleted.again'), description })
      ids.push(body.id)
      expect((await admin('DELETE', `${endpoints}/deleted.again`)).status).toBe(204)
    }
    const sent: [path: string, body: object][] = [
      [
        'sources',
        {
          name: 'deleted_again',
          columns: [{ name: 'a', path: `a.${'b'.repeat(190)}.${'c'.repeat(190)}`, type: 'text' }],
        },
      ],
      ['access-tokens', { scopes: Array(100).fill('query:deleted.again') }],
      ['searches', { name: 'deleted again', source: 'edge_logs', query: 'a'.repeat(2_000) }],
    ]
    const others: string[] = []
    for (const [path, body] of sent) {
      const { id, name } = (await admin('POST', `/api/${path}`, body)).body
      const reference = path === 'sources' ? `${name}?confirm=${name}` : id
      expect((await admin('DELETE', `/api/${path}/${reference}`)).status).toBe(204)
      others.push(id)
    }
    const read = async (expression: string, among: readonly string[], condition = 'true') => {
      const sql = `SELECT ${expression} FROM _catalog WHERE id IN ('${among.join("', '")}') AND ${condition}`
      return Number(await queryText(service.engine, { sql }, { deadlineMs: 60_000 }))
    }
    expect(await read('count()', [...ids, ...others], 'deleted')).toBe(9)
    expect(await read('max(length(body))', [...ids, ...others], 'deleted')).toBeLessThan(500)
    await expect.poll(() => read('sum(length(body))', ids)).toBeLessThan(3 * description.length)
    for (const id of [ids[0], ids[5]]) {
      const again = await admin('POST', endpoints, { ...fields('deleted.again'), id })
      expect([again.status, again.body.error?.code]).toEqual([409, 'name_taken'])
    }
  })
})
