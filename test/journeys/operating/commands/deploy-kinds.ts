import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { ask } from '../../../support/callers.ts'
import { runCommand } from '../../../support/command.ts'
import { scratchDirectory } from '../../../support/scratch.ts'
import type { LocalService } from './cli.ts'

const files = {
  'sources/region_logs.yaml':
    'retention_days: 7\ncolumns:\n  - { name: region, path: place.region, type: text }\n',
  'endpoints/regions.sql': [
    '/*\nid: 3f0c9d0e-51f0-4a63-9f0b-0c6a4e1d7b21\n*/',
    'SELECT region, count() AS orders FROM region_logs',
    'WHERE timestamp > @now - INTERVAL 1 DAY GROUP BY region ORDER BY region\n',
  ].join('\n'),
  'dashboards/regions.yaml':
    'title: Regions\nrows:\n  - items:\n      - { endpoint: regions, chart: bars, y: [ orders ] }\n',
  'alerts/regions.yaml':
    'endpoint: regions\nwhen: any(orders) > 1000\nnotify:\n  - type: webhook\n    url: http://127.0.0.1:9/hook\n',
}

/** Deploys a source, an endpoint that reads its column, and an alert and a dashboard on the endpoint. */
export function deployKindsJourneys(service: () => LocalService): void {
  describe('a source, an endpoint that reads its column, and an alert on it', () => {
    const { path, remove } = scratchDirectory()
    afterAll(remove)
    const write = (file: string, content: string) => {
      mkdirSync(dirname(join(path, file)), { recursive: true })
      writeFileSync(join(path, file), content)
    }
    for (const [file, content] of Object.entries(files)) write(file, content)
    const run = (...args: string[]) =>
      runCommand(args, { cwd: path, environment: { WELLHEAD_DATA_DIR: service().dataDir } })
    const namesThere = async () => {
      const all = ['source', 'endpoint', 'alert'].map(async (kind) => {
        const list = JSON.parse((await run(kind, 'list', '--json')).stdout) as { name: string }[]
        return list.map(({ name }) => `${kind} ${name}`)
      })
      return (await Promise.all(all)).flat().filter((title) => / region/.test(title))
    }
    const deployment = (body: object) => ask(service(), service().token, 'POST', '/api/deployments', body)

    test('diff shows what will be created, and creates nothing', async () => {
      const { code, stdout } = await run('diff', '--exit-code')
      expect(code).toBe(1)
      expect(stdout.split('\n').filter((line) => /^(created|\+\+\+|\d)/.test(line))).toEqual([
        'created source region_logs (version 1)',
        '+++ sources/region_logs.yaml',
        'created regions (version 1)',
        '+++ endpoints/regions.sql',
        'created alert regions (version 1)',
        '+++ alerts/regions.yaml',
        'created dashboard regions (version 1)',
        '+++ dashboards/regions.yaml',
        '4 definitions to deploy, 0 unchanged.',
      ])
      expect(stdout).toContain('+  - { name: region, path: place.region, type: text }\n')
      expect(await namesThere()).toEqual([])
    })

    test('a deployment with an alert that does not fit leaves nothing behind', async () => {
      write('alerts/regions.yaml', files['alerts/regions.yaml'].replace('orders', 'gone'))
      const problem = 'alerts/regions.yaml:2:1: regions has no column "gone". It has region, orders.\n'
      for (const command of ['check', 'diff', 'deploy']) {
        expect(await run(command)).toMatchObject({
          ...{ code: 1, stdout: problem, stderr: 'wellhead: 1 problem found.\n' },
        })
      }
      const alerts = [{ name: 'regions', endpoint: 'regions', when: 'any(gone) > 1' }]
      const sources = [{ name: 'region_logs' }]
      const endpoints = [{ name: 'regions', query: 'SELECT project AS p FROM region_logs' }]
      const { status, body } = await deployment({ sources, endpoints, alerts })
      expect([status, body.error.definition]).toEqual([400, 'alerts/regions'])
      expect(await namesThere()).toEqual([])
      write('alerts/regions.yaml', files['alerts/regions.yaml'])
    })

    test('a dashboard that names a column that does not exist is reported with its line', async () => {
      const file = 'dashboards/regions.yaml'
      write(file, files[file].replace('[ orders ]', '[ gone ]'))
      const { code, stdout } = await run('check')
      expect([code, stdout]).toEqual([
        1,
        `${file}:4:48: rows.0.items.0: regions has no column "gone". It has region, orders.\n`,
      ])
      write(file, files[file])
    })

    test('check knows the endpoints that every service has, unless a file replaces them', async () => {
      const file = 'dashboards/shipped.yaml'
      mkdirSync(join(path, 'shipped-use/endpoints'), { recursive: true })
      const counts =
        '{ endpoint: usage.api-counts, parameters: { project: a, interval: daily }, y: [ gone ] }'
      write(
        `shipped-use/${file}`,
        `rows:\n  - items:\n      - ${counts}\n      - { endpoint: logs.all, parameters: { project: a, sql: select 1 } }\n`,
      )
      write('shipped-use/alerts/shipped.yaml', 'endpoint: wellhead.endpoint-stats\nwhen: any(nothing) > 0\n')
      const { stdout } = await run('check', 'shipped-use')
      expect(stdout.split('\n')).toEqual([
        expect.stringMatching(/^alerts\/shipped.yaml:2:1: wellhead.endpoint-stats has no column "nothing"/),
        expect.stringMatching(/^dashboards\/shipped.yaml:3:\d+: .* usage.api-counts has no column "gone"/),
        '',
      ])
      write('shipped-use/alerts/shipped.yaml', 'endpoint: wellhead.endpoint-stats\nwhen: rows > 0\n')
      write(`shipped-use/${file}`, `rows:\n  - items:\n      - ${counts.replace(', y: [ gone ]', '')}\n`)
      expect((await run('check', 'shipped-use')).stdout).toBe('2 definitions checked, no problems found.\n')
      const id = '3f0c9d0e-51f0-4a63-9f0b-0c6a4e1d7b29'
      write('shipped-use/endpoints/usage.api-counts.sql', `/*\nid: ${id}\n*/\nSELECT 1 AS one\n`)
      expect((await run('check', 'shipped-use')).stdout).toMatch(
        /usage.api-counts has no parameter|nknown parameter/,
      )
    })

    test('check reports every rejected file once, and not what only follows from another problem', async () => {
      // Its endpoint and the alert on that cannot be checked.
      const rejected = {
        'sources/place_logs.yaml': 'retention_days: many\n',
        'endpoints/places.sql':
          '/*\nid: 3f0c9d0e-51f0-4a63-9f0b-0c6a4e1d7b24\n*/\nSELECT nowhere FROM place_logs\n',
        'alerts/places.yaml': 'endpoint: places\nwhen: any(nothing) > 1\nnotify: []\n',
      }
      for (const [file, content] of Object.entries(rejected)) write(file, content)
      write('endpoints/regions.sql', files['endpoints/regions.sql'].replace('region,', 'nowhere,'))
      write(
        'endpoints/more.sql',
        '/*\nid: 3f0c9d0e-51f0-4a63-9f0b-0c6a4e1d7b22\n*/\nSELECT nothing FROM edge_logs\n',
      )
      const { problems } = JSON.parse((await run('check', '--json')).stdout) as {
        problems: { file: string }[]
      }
      expect(problems.map(({ file }) => file)).toEqual([
        'endpoints/more.sql',
        'endpoints/regions.sql',
        'sources/place_logs.yaml',
      ])
      for (const file of [...Object.keys(rejected), 'endpoints/more.sql']) rmSync(join(path, file))
      write('endpoints/regions.sql', files['endpoints/regions.sql'])
      expect((await run('check', '--strict')).stdout).toBe('4 definitions checked, no problems found.\n')
    })

    test('one deployment creates all of them', async () => {
      const deployed = await run('deploy', '--note', 'all at once')
      expect(deployed).toMatchObject({
        ...{ code: 0, stderr: expect.stringMatching(/^secret of regions for http:\S+\/hook: whsec_\S+\n$/) },
      })
      expect(deployed.stdout).toMatch(/: 4 created, 0 updated, 0 unchanged\.\n$/)
      expect(await namesThere()).toEqual(['source region_logs', 'endpoint regions', 'alert regions'])
      expect((await run('diff', '--exit-code')).code).toBe(0)
      expect((await run('pull', 'regions', '--directory', 'pulled')).stdout.split('\n').sort()).toEqual([
        '',
        ...Object.keys(files)
          .map((file) => `written ${file}`)
          .sort(),
      ])
      expect((await run('diff', 'pulled', '--exit-code')).code).toBe(0)
    })

    test('another file of targets sends alerts elsewhere, and files keep the names', async () => {
      const hook = (path: string) => `hook: { type: webhook, url: "http://127.0.0.1:9/${path}" }\n`
      const file = 'alerts/regions.yaml'
      write('targets.yaml', hook('hook'))
      write('targets.staging.yaml', hook('staging'))
      write(file, files[file].replace(/- type: webhook.*/s, '- target: hook\n'))
      expect((await run('diff', '--exit-code')).code).toBe(0)
      expect((await run('pull', 'regions')).stdout).toContain(`unchanged ${file}\n`)
      const staging = ['--targets', 'targets.staging.yaml']
      const { stdout } = await run('diff', ...staging)
      expect(stdout).toContain('-  - type: webhook\n-    url: http://127.0.0.1:9/hook\n+  - target: hook\n')
      const deployed = await run('deploy', ...staging)
      expect(deployed).toMatchObject({
        ...{ code: 0, stderr: expect.stringMatching(/for http:\S+\/staging: whsec_/) },
      })
      const environment = { WELLHEAD_DATA_DIR: service().dataDir, WELLHEAD_TARGETS: 'targets.staging.yaml' }
      expect((await runCommand(['diff', '--exit-code'], { cwd: path, environment })).code).toBe(0)
      write('targets.none.yaml', 'other: { type: webhook, url: "http://127.0.0.1:9/none" }\n')
      expect(await run('deploy', '--targets', 'targets.none.yaml')).toMatchObject({
        ...{ code: 1, stdout: `${file}:4:5: targets.none.yaml has no target "hook".\n` },
      })
      for (const each of ['targets.yaml', 'targets.staging.yaml', 'targets.none.yaml'])
        rmSync(join(path, each))
      write(file, files[file])
      expect((await run('deploy')).code).toBe(0)
    })

    test('pull writes shipped endpoints that a dashboard uses, so that the files can be checked', async () => {
      const items = [{ endpoint: 'usage.api-counts', parameters: { project: 'shop', interval: 'daily' } }]
      const dashboards = [{ name: 'region.shipped', rows: [{ items }] }]
      expect((await deployment({ dashboards })).status).toBe(200)
      const written = ['written dashboards/region.shipped.yaml', 'written endpoints/usage.api-counts.sql']
      const pulled = await run('pull', 'region.shipped', '--directory', 'shipped')
      expect(pulled.stdout.trim().split('\n').sort()).toEqual(written)
      expect((await run('pull', '--directory', 'own')).stdout).toContain(written[1])
      for (const directory of ['shipped', 'own']) expect((await run('check', directory)).code).toBe(0)
      expect((await deployment({ delete: { dashboards: ['region.shipped'] } })).status).toBe(200)
    })

    test('a plan lists every change of a source, and which of them break something', async () => {
      const columns = [{ name: 'place', path: 'place.name', type: 'text' }]
      const base = { name: 'region_logs', retention_days: 7 }
      const changesOf = async (source: object, query: string) => {
        const body = {
          sources: [{ ...base, ...source }],
          endpoints: [{ name: 'regions', query }],
          dry_run: true,
        }
        const { body: planned } = await deployment(body)
        const changes: { kind: string; breaking: boolean }[] = planned.sources[0].changes
        return changes.map(({ kind, breaking }) => (breaking ? `${kind}!` : kind))
      }
      const counted = 'SELECT count() AS orders FROM region_logs'
      const more = { description: 'Orders.', aliases: ['regional'], retention_days: 30, columns }
      expect(await changesOf(more, counted)).toEqual([
        ...['description_changed', 'alias_added', 'retention_raised', 'column_added', 'column_removed'],
      ])
      const region = { name: 'region', path: 'place.region', type: 'text' }
      const read = 'SELECT region, count() AS orders FROM region_logs GROUP BY region'
      expect(await changesOf({ retention_days: 3, columns: [{ ...region, path: 'region' }] }, read)).toEqual([
        ...['retention_lowered!', 'column_changed!'],
      ])
      expect(await changesOf({ columns: [{ ...region, searched: true }] }, read)).toEqual(['column_changed'])
      expect(await changesOf({ columns: [region] }, read)).toEqual([])
    })

    test('--prune does not delete what an alert uses', async () => {
      for (const file of ['endpoints/regions.sql', 'dashboards/regions.yaml']) rmSync(join(path, file))
      expect(existsSync(join(path, 'alerts/regions.yaml'))).toBe(true)
      write('endpoints/other.sql', '/*\nid: 3f0c9d0e-51f0-4a63-9f0b-0c6a4e1d7b23\n*/\nSELECT 1 AS n\n')
      const { code, stderr } = await run('deploy', '--prune', '--yes')
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/regions is used by alerts\/regions, dashboards\/regions.*\(in_use, /),
      ])
      expect(await namesThere()).toHaveLength(3)
      const all = {
        alerts: ['regions'],
        dashboards: ['regions'],
        endpoints: ['regions'],
        sources: ['region_logs'],
      }
      expect((await deployment({ delete: all, allow_breaking: true })).status).toBe(200)
      expect(await namesThere()).toEqual([])
    })
  })
}
