import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { ask } from '../../../support/callers.ts'
import { runCommand } from '../../../support/command.ts'
import { scratchDirectory } from '../../../support/scratch.ts'
import type { LocalService } from './cli.ts'

const endpoint = (id: string, query: string) =>
  `/*\nid: 3f0c9d0e-51f0-4a63-9f0b-0c6a4e1d${id}\n*/\n${query}\n`
const files = {
  'tables/w_customers.yaml': '',
  'tables/w_customers.csv': 'id,plan,seats\na,pro,3\nb,free,\n',
  'endpoints/w.customers.sql': endpoint('7b31', 'SELECT id, plan, seats FROM w_customers ORDER BY id'),
  'endpoints/w.plans.sql': endpoint(
    '7b32',
    'SELECT plan, sum(seats) AS seats FROM `w.customers` GROUP BY plan ORDER BY plan',
  ),
  'tests/w.plans.yaml': 'endpoint: w.plans\nnow: 2026-11-01T00:00:00Z\ntests:\n  - name: all\n    rows: []\n',
}

/** Tables of a workspace and of the command line. */
export function tableJourneys(service: () => LocalService): void {
  const { path, remove } = scratchDirectory()
  afterAll(remove)
  const write = (file: string, content: string) => {
    mkdirSync(dirname(join(path, file)), { recursive: true })
    writeFileSync(join(path, file), content)
  }
  const run = (...args: string[]) =>
    runCommand(args, { cwd: path, environment: { WELLHEAD_DATA_DIR: service().dataDir } })
  const api = (method: string, url: string, body?: object) =>
    ask(service(), service().token, method, url, body)
  const rowsOf = async (name: string) =>
    (await api('POST', '/api/sql', { query: `SELECT * FROM ${name} ORDER BY ALL` })).body.result
  const updatedAt = async (name: string) => (await api('GET', `/api/tables/${name}`)).body.rows_updated_at

  describe('tables of a workspace', () => {
    for (const [file, content] of Object.entries(files)) write(file, content)

    test('have the columns that are told from their rows, in a check and in the plan', async () => {
      expect((await run('check', '--strict')).stdout).toBe('3 definitions checked, no problems found.\n')
      const { code, stdout } = await run('diff', '--exit-code')
      expect(code).toBe(1)
      expect(stdout).toContain('created table w_customers (version 1)\n  compatible  2 rows to send\n')
      expect(stdout).toContain('+  - { name: seats, type: number }\n')
      expect((await api('GET', '/api/tables/w_customers')).status).toBe(404)
    })

    test('are tested with their rows, or with those of the fixtures, also through other endpoints', async () => {
      const updated = async () => {
        expect((await run('test', '--update')).code).toBe(0)
        return readFileSync(join(path, 'tests/w.plans.yaml'), 'utf8')
      }
      expect(await updated()).toMatch(/seats: 3\b/)
      write('fixtures/w_customers.csv', 'plan,id,seats\r\npro,x,7\r\npro,y,8')
      expect(await updated()).toMatch(/seats: 15\b/)
      expect((await run('test')).stdout).toContain('1 passed, 0 failed')
      write('fixtures/w_customers.csv', 'id,plan,seats\na,pro,many\n')
      for (const command of ['check', 'test']) {
        expect((await run(command)).stdout).toBe(
          'fixtures/w_customers.csv:1:1: Row 2: seats must be a number, not "many".\n',
        )
      }
      write('fixtures/w_customers.csv', 'id,plan,seats\na,pro,1\n')
    })

    test('are deployed with their rows, which are not sent again unless they changed', async () => {
      const deployed = await run('deploy')
      expect([deployed.code, deployed.stderr]).toEqual([0, ''])
      expect(deployed.stdout).toMatch(/3 created, 0 updated, 0 unchanged\.\n$/)
      expect(await rowsOf('w_customers')).toEqual([
        { id: 'a', plan: 'pro', seats: 3 },
        { id: 'b', plan: 'free', seats: null },
      ])
      const before = await updatedAt('w_customers')
      // The same rows, written in another way.
      write('tables/w_customers.csv', '\ufeff"id",plan,seats\r\n"a",pro,3.0\r\n"b","free",')
      expect((await run('diff', '--exit-code')).code).toBe(0)
      expect((await run('deploy')).stdout).toMatch(/0 created, 0 updated, 3 unchanged\.\n$/)
      expect(await updatedAt('w_customers')).toBe(before)
      write('tables/w_customers.csv', 'id,plan,seats\nc,pro,4\n')
      const changed = await run('deploy')
      expect(changed.stdout).toContain('updated table w_customers (version 1)\n  compatible  1 row to send\n')
      expect(await rowsOf('w_customers')).toEqual([{ id: 'c', plan: 'pro', seats: 4 }])
    })

    test('show columns that change with their rows, and are not deployed if an endpoint would break', async () => {
      write('tables/w_customers.csv', 'id,plan,seats\n7,pro,4\n')
      const { code, stdout } = await run('deploy', '--dry-run')
      expect(code).toBe(1)
      expect(stdout).toContain('column id changed from text to number')
      write('tables/w_customers.csv', 'id,plan,seats\nc,pro,four\n')
      expect((await run('deploy')).stdout).toMatch(/^endpoints\/w.plans.sql:\d+:\d+: Illegal type String/)
      write('tables/w_customers.csv', 'id,plan\nc,pro\n')
      expect((await run('deploy')).code).toBe(1)
      expect(await rowsOf('w_customers')).toEqual([{ id: 'c', plan: 'pro', seats: 4 }])
    })

    test('are pulled, and then equal what the service has', async () => {
      expect((await run('pull')).stderr).toContain('tables/w_customers.csv')
      expect((await run('pull', '--force')).code).toBe(0)
      expect(readFileSync(join(path, 'tables/w_customers.csv'), 'utf8')).toBe('id,plan,seats\n"c","pro",4\n')
      expect((await run('diff', '--exit-code')).code).toBe(0)
      for (const file of ['tables/w_customers.yaml', 'tables/w_customers.csv']) rmSync(join(path, file))
      expect((await run('pull', 'w.plans')).stdout).toContain('written tables/w_customers.csv')
      expect((await run('diff', '--exit-code')).code).toBe(0)
    })

    test('keep null rows of one column when they are pulled and deployed again', async () => {
      const csv = 'tables/w_single.csv'
      write('tables/w_single.yaml', '')
      write(csv, 'code\na\n\n""\n')
      expect((await run('deploy')).stdout).toContain('3 rows to send')
      const stored = [{ code: '' }, { code: 'a' }, { code: null }]
      expect(await rowsOf('w_single')).toEqual(stored)
      rmSync(join(path, csv))
      rmSync(join(path, 'tables/w_single.yaml'))
      expect((await run('pull', 'w_single')).code).toBe(0)
      expect(readFileSync(join(path, csv), 'utf8').split('\n').toSorted()).toEqual([
        ...['', '', '""', '"a"', 'code'],
      ])
      expect((await run('diff', '--exit-code')).code).toBe(0)
      expect((await run('table', 'rows', 'w_single', '--output', 'single.csv')).code).toBe(0)
      expect((await run('table', 'put', 'w_single', 'single.csv')).stdout).toContain('Stored 3 rows')
      expect(await rowsOf('w_single')).toEqual(stored)
      expect((await run('table', 'delete', 'w_single', '--yes')).code).toBe(0)
      rmSync(join(path, csv))
      rmSync(join(path, 'tables/w_single.yaml'))
    })

    test('name the projects that were erased among their rows, and are not sent unless that is confirmed', async () => {
      write('tables/w_tenants.yaml', '')
      write('tables/w_tenants.csv', 'project,seats\nw-erased,1\nw-kept,2\n')
      expect((await run('deploy')).code).toBe(0)
      expect((await api('POST', '/api/erasures', { project: 'w-erased' })).status).toBe(202)
      const kept = [{ project: 'w-kept', seats: 2 }]
      expect(await rowsOf('w_tenants')).toEqual(kept)
      for (const command of [['diff'], ['deploy', '--dry-run'], ['deploy']]) {
        const { code, stderr } = await run(...command)
        expect([code, stderr]).toEqual([1, expect.stringContaining('tables/w_tenants.csv: ')])
        expect(stderr).toContain('rows of erased projects would come back: "w-erased"')
        expect(stderr).toContain('Use --restore-erased to send them anyway.')
      }
      expect(await rowsOf('w_tenants')).toEqual(kept)
      expect((await run('diff', '--restore-erased')).code).toBe(0)
      expect((await run('deploy', '--restore-erased')).code).toBe(0)
      expect(await rowsOf('w_tenants')).toEqual([{ project: 'w-erased', seats: 1 }, ...kept])
      for (const file of ['tables/w_tenants.yaml', 'tables/w_tenants.csv']) rmSync(join(path, file))
      expect((await api('DELETE', '/api/tables/w_tenants')).status).toBe(204)
    })

    test('report rows without a definition, and rows that cannot be read', async () => {
      write('tables/w_other.csv', 'id\na\n')
      write('tables/w_customers.csv', 'id,id\na,b\n')
      expect((await run('check')).stdout).toBe(
        'tables/w_customers.csv:1:1: The column id is there twice. Remove one of them.\n' +
          'tables/w_other.csv:1:1: There is no tables/w_other.yaml. Create it; it can be empty.\n',
      )
      rmSync(join(path, 'tables/w_other.csv'))
      // Does not replace the definition of what it cannot read.
      expect((await run('pull', 'w_customers')).stderr).toContain('tables/w_customers.yaml')
      expect((await run('pull', 'w_customers', '--force')).code).toBe(0)
    })
  })

  describe('wellhead table', () => {
    test('creates, fills, lists, shows and deletes tables', async () => {
      write('prices.ndjson', '{"plan":"pro","price":10.5}\n{"plan":"free","price":0}\n')
      const put = await run('table', 'put', 'w_prices', 'prices.ndjson')
      expect(put).toMatchObject({ code: 0, stdout: 'Stored 2 rows in w_prices: plan text, price number.\n' })
      expect((await run('table', 'list')).stdout).toMatch(/^w_prices +2 /m)
      expect((await run('table', 'show', 'w_prices')).stdout).toMatch(/^columns +plan=text price=number$/m)
      expect((await run('table', 'rows', 'w_prices')).stdout).toBe('plan,price\n"pro",10.5\n"free",0\n')
      const json = await run('table', 'rows', 'w_prices', '--format', 'json', '--limit', '1')
      expect(JSON.parse(json.stdout)).toEqual({ rows: 2, result: [{ plan: 'pro', price: 10.5 }] })
      await run('table', 'rows', 'w_prices', '--output', 'prices.csv')
      expect((await run('table', 'put', 'w_prices', 'prices.csv')).code).toBe(0)
      expect((await run('table', 'delete', 'w_prices', '--yes')).code).toBe(0)
      expect((await run('table', 'show', 'w_prices')).code).toBe(1)
    })

    test('refuses rows that break an endpoint, and files of other forms', async () => {
      write('w.csv', 'id\na\n')
      const refused = await run('table', 'put', 'w_customers', 'w.csv')
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('column plan is missing') })
      expect(await run('table', 'put', 'w_new', 'w.txt')).toMatchObject({ code: 2 })
      expect(existsSync(join(path, 'w.txt'))).toBe(false)
      expect((await run('table', 'rows', 'w_customers', '--limit', '1')).code).toBe(2)
    })
  })
}
