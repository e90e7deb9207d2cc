import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, describe, expect, test } from 'vitest'
import { runProgram } from '../../../../src/cli/program.ts'
import { type CommandChoices, runCommand } from '../../../support/command.ts'
import { memoryIo } from '../../../support/memory-io.ts'
import { scratchDirectory } from '../../../support/scratch.ts'
import type { LocalService } from './cli.ts'
import { lockJourneys } from './lock-journeys.ts'
import { templateJourneys } from './template-journeys.ts'

const id = '6b0c2f2e-8a57-4c1d-9d3e-5f2f7d1f0a11'

/** Deploys, changes and pulls a workspace that declares a source. */
export function deployCommandJourneys(service: () => LocalService): void {
  const files = scratchDirectory()
  afterAll(() => files.remove())
  const write = (path: string, content: string) => {
    const file = join(files.path, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
  }
  const bound = 'WHERE timestamp > @now - INTERVAL 1 DAY'
  const endpoint = (query: string, header = '') =>
    write('workspace/endpoints/orders.count.sql', `/*\nid: ${id}\n${header}*/\n${query}\n`)
  const source = (days: number) => write('workspace/sources/order_logs.yaml', `retention_days: ${days}\n`)
  const run = (...args: string[]) => runWith({}, ...args)
  const { WELLHEAD_ENGINE_NODE = '', WELLHEAD_ENGINE_PATIENCE = '' } = process.env
  const engine = { WELLHEAD_ENGINE_NODE, WELLHEAD_ENGINE_PATIENCE }
  const runWith = (choices: CommandChoices, ...args: string[]) =>
    runCommand(args, {
      cwd: files.path,
      environment: { WELLHEAD_DATA_DIR: service().dataDir, ...engine },
      ...choices,
    })
  const namesThere = async () => {
    const { stdout } = await run('endpoint', 'list', '--json')
    return (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name)
  }
  const sourcesThere = async () => {
    const { stdout } = await run('source', 'list', '--json')
    const all = JSON.parse(stdout) as { name: string; retention_days: number }[]
    return all.filter(({ name }) => name === 'order_logs').map(({ retention_days }) => retention_days)
  }

  const remove = async (name: string, folder = 'endpoints') => {
    const headers = { 'X-API-KEY': service().token }
    return (await fetch(`${service().url}/api/${folder}/${name}`, { method: 'DELETE', headers })).status
  }

  describe('a workspace with its own source', () => {
    test('an endpoint that its new source cannot serve is reported before anything is created', async () => {
      source(14)
      endpoint('SELECT no_such_column FROM order_logs')
      expect(await run('deploy', 'workspace')).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(/^endpoints\/orders\.count\.sql:4:8: .*no_such_column/),
        stderr: 'wellhead: 1 problem found.\n',
      })
      expect(await sourcesThere()).toEqual([])
      expect(await namesThere()).not.toContain('orders.count')
    })

    test('deploys with warnings, and then nothing differs; --strict deploys nothing if there are warnings', async () => {
      endpoint('SELECT project FROM order_logs\nLIMIT 3', 'parameters:\n  spare: {}\n')
      const warnings = [
        'endpoints/orders.count.sql:4:3: warning: […[unused_parameter]',
        'endpoints/orders.count.sql:6:21: warning: […[unbounded_time]',
        'endpoints/orders.count.sql:7:1: warning: […[no_order]',
      ]
      const linesOf = (stdout: string) =>
        stdout.split('\n').map((line) => line.replace(/warning: .* \[/, 'warning: […['))
      const { code, stdout } = await run('deploy', 'workspace')
      expect([code, linesOf(stdout)]).toEqual([
        0,
        [
          ...warnings,
          'created source order_logs (version 1)',
          'created orders.count (version 1)',
          expect.stringMatching(/^Deployed to /),
          '',
        ],
      ])
      expect(await sourcesThere()).toEqual([14])
      expect((await run('diff', 'workspace', '--exit-code')).code).toBe(0)

      endpoint('SELECT project FROM order_logs\nLIMIT 4', 'parameters:\n  spare: {}\n')
      const strict = await run('deploy', 'workspace', '--strict')
      expect([strict.code, linesOf(strict.stdout)]).toEqual([
        1,
        [
          ...warnings,
          'unchanged source order_logs (version 1)',
          'updated orders.count (version 1 → 2)',
          '  compatible  The SQL changed; values may differ.',
          '',
        ],
      ])
      expect(strict.stderr).toMatch(/^wellhead: 3 warnings found; nothing was deployed\. Omit --strict /)
      expect((await run('diff', 'workspace', '--exit-code')).code).toBe(1)
      endpoint(`SELECT count() AS orders FROM order_logs ${bound}`)
      expect((await run('deploy', 'workspace', '--breaking')).code).toBe(0)
    })

    test('rejects changes that delete entries or break callers, also in a dry run', async () => {
      source(3)
      const losing = /^wellhead: 1 change would break callers; .*--breaking/
      for (const flags of [['--dry-run'], []]) {
        expect(await run('deploy', 'workspace', ...flags)).toMatchObject({
          code: 1,
          stderr: expect.stringMatching(losing),
        })
      }
      expect(await sourcesThere()).toEqual([14])
      expect(await run('diff', 'workspace', '--exit-code')).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(
          /^updated source order_logs .*\n.*\n--- service\/order_logs \(version 1\)\n[\s\S]*-retention_days: 14\n\+retention_days: 3\n[\s\S]*\n1 definition to deploy, 1 unchanged\.\n$/,
        ),
      })
      expect(await run('deploy', 'workspace', '--breaking')).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(
          'updated source order_logs (version 1 → 2)\n  breaking    retention_days 14 → 3; no entries are hidden now, and later ones are hidden sooner than before\n',
        ),
      })
      expect(await sourcesThere()).toEqual([3])
      endpoint(`SELECT count() AS sold FROM order_logs ${bound}`)
      const { code, stdout } = await run('deploy', 'workspace', '--dry-run', '--json')
      expect([code, JSON.parse(stdout)]).toMatchObject([
        1,
        { deployed: false, endpoints: [{ name: 'orders.count' }] },
      ])
      source(2)
      expect((await run('deploy', 'workspace')).stderr).toMatch(/^wellhead: 2 changes would break callers; /)
    })

    test('adds columns before the endpoints that read them, and removes them afterwards', async () => {
      const columns = (...names: string[]) =>
        write(
          'workspace/sources/order_logs.yaml',
          `retention_days: 3\ncolumns:${names.map((name) => `\n  - { name: ${name}, path: ${name}, type: text }`).join('') || ' []'}\n`,
        )
      const columnsThere = async () => {
        const { stdout } = await run('source', 'show', 'order_logs', '--json')
        return (JSON.parse(stdout).columns as { name: string }[]).map(({ name }) => name)
      }
      const entries = '{"project":"p","region":"eu"}\n{"project":"p","region":""}\n{"project":"p"}'
      expect((await runWith({ input: entries }, 'logs', 'send', '--source', 'order_logs')).code).toBe(0)
      columns('region', 'tier')
      endpoint(`SELECT region, count() AS orders FROM order_logs ${bound} GROUP BY region ORDER BY region`)
      const added =
        'updated source order_logs (version 2 → 3)\n  compatible  column region added: metadata.region, text\n' +
        '  compatible  column tier added: metadata.tier, text\nupdated orders.count (version 2 → 3)\n'
      expect(await columnsThere()).toEqual([])
      expect(await run('deploy', 'workspace')).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(added),
      })
      expect((await run('diff', 'workspace', '--exit-code')).code).toBe(0)

      columns('tier')
      expect(await run('diff', 'workspace')).toMatchObject({
        code: 1,
        stdout:
          'sources/order_logs.yaml:2:1: Column region is used by orders.count. Change the query first, then remove the column.\n',
        stderr: 'wellhead: 1 problem found.\n',
      })
      endpoint(`SELECT count() AS orders FROM order_logs ${bound}`)
      const removed =
        'updated source order_logs (version 3 → 4)\n  warning     column region removed; metadata.region remains in 1 entry, and queries then read it from JSON text\n'
      expect(await run('deploy', 'workspace', '--breaking', '--strict')).toMatchObject({
        code: 1,
        stdout: expect.stringContaining(removed),
        stderr: expect.stringContaining('1 warning found; nothing was deployed.'),
      })
      expect(await columnsThere()).toEqual(['region', 'tier'])
      const deployed = await run('deploy', 'workspace', '--breaking', '--json')
      expect(JSON.parse(deployed.stdout)).toMatchObject({
        deployed: true,
        sources: [
          { name: 'order_logs', action: 'updated', changes: [{ kind: 'column_removed', breaking: false }] },
        ],
      })
      expect(await columnsThere()).toEqual(['tier'])

      endpoint(`SELECT tier AS t FROM order_logs ${bound} ORDER BY t`)
      expect((await run('deploy', 'workspace', '--breaking')).code).toBe(0)
      write(
        'workspace/sources/order_logs.yaml',
        'retention_days: 3\ncolumns:\n  - { name: tier, path: tier, type: number }\n',
      )
      const changed = await run('diff', 'workspace')
      expect(changed.stdout).toMatch(
        /^updated source order_logs \(version 4 → 5\)\n {2}breaking .*; results of orders\.count may differ\n--- service/,
      )
      write('workspace/sources/order_logs.yaml', 'aliases: [edge_logs]\n')
      expect((await run('diff', 'workspace')).stdout).toBe(
        'sources/order_logs.yaml:1:1: The name "edge_logs" is already taken. Choose another.\n',
      )
      columns('tier')
    })

    test('reports file problems as JSON and deploys nothing', async () => {
      write('workspace/endpoints/broken.sql', 'no front matter')
      const { code, stdout } = await run('deploy', 'workspace', '--json')
      expect([code, JSON.parse(stdout)]).toMatchObject([1, { problems: [{ file: 'endpoints/broken.sql' }] }])
    })

    test('pulls what was deployed', async () => {
      mkdirSync(join(files.path, 'pulled'))
      const pull = (...args: string[]) => run('pull', ...args, '--directory', 'pulled')
      expect(await pull('ordrs.count')).toMatchObject({
        code: 1,
        stderr:
          'wellhead: The service has nothing with the name "ordrs.count" for a workspace. Did you mean orders.count?\n',
      })
      expect((await pull('wellhead.top-callers')).stderr).toContain('for a workspace')
      expect((await pull('usage.api-counts')).stdout).toBe('written endpoints/usage.api-counts.sql\n')
      expect((await pull('orders.count')).stdout).toBe(
        'written endpoints/orders.count.sql\nwritten sources/order_logs.yaml\n',
      )
      const own = (await pull()).stdout.split('\n')
      expect(own).toContain('unchanged endpoints/orders.count.sql')
      expect(own).not.toContain('unchanged endpoints/usage.api-counts.sql')
      const all = (await pull('--all')).stdout
      expect(all).toContain('written endpoints/logs.all.sql\n')
      expect(all).not.toContain('wellhead.')
      expect((await run('diff', 'pulled', '--exit-code')).code).toBe(0)
      write('pulled/sources/order_logs.yaml', '')
      expect((await pull()).stderr).toContain(
        'sources/order_logs.yaml would be replaced; nothing was written.',
      )
      expect((await pull('--force')).stdout).toContain('replaced sources/order_logs.yaml\n')
      expect((await run('diff', 'pulled', '--exit-code')).code).toBe(0)
    })

    test('--prune deletes endpoints without a file after asking, and keeps shipped ones', async () => {
      for (const name of ['orders.count', 'logs.all'])
        rmSync(join(files.path, `pulled/endpoints/${name}.sql`))
      expect(await run('deploy', 'pulled', '--prune')).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(/orders\.count will be deleted\. .*Confirm with --yes\.\n$/),
      })
      expect(await run('deploy', 'pulled', '--prune', '--dry-run')).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(
          /^deleted orders\.count \(version \d\)\nWould deploy to .*, 1 deleted\.\n$/m,
        ),
      })
      expect(await namesThere()).toContain('orders.count')
      const before = await namesThere()
      const prune = async (answers: () => AsyncGenerator<string>) => {
        const environment = { WELLHEAD_DATA_DIR: service().dataDir }
        const stdin = Readable.from(answers())
        const io = memoryIo({ cwd: files.path, environment, stdin, stdinIsTerminal: true })
        return [await runProgram(['deploy', 'pulled', '--prune'], io), io.stderr.text()]
      }
      const declined = async function* () {
        yield 'n\n'
      }
      expect(await prune(declined)).toEqual([1, expect.stringContaining('Nothing was changed.')])
      const changedMeanwhile = async function* () {
        const headers = { 'X-API-KEY': service().token, 'Content-Type': 'application/json' }
        const body = JSON.stringify({ description: 'changed' })
        await fetch(`${service().url}/api/endpoints/orders.count`, { method: 'PATCH', headers, body })
        yield 'y\n'
      }
      expect(await prune(changedMeanwhile)).toEqual([
        1,
        expect.stringContaining('orders.count changed meanwhile; nothing was deployed.'),
      ])
      expect(await namesThere()).toEqual(before)
      const deleted = expect.objectContaining({ name: 'orders.count', action: 'deleted' })
      const { code, stdout } = await run('deploy', 'pulled', '--prune', '--yes', '--json')
      expect([code, JSON.parse(stdout)]).toMatchObject([
        0,
        { deployed: true, endpoints: expect.arrayContaining([deleted]) },
      ])
      expect(await namesThere()).toEqual(before.filter((name) => name !== 'orders.count'))
      expect((await run('source', 'delete', 'order_logs', '--yes')).code).toBe(0)
    })
  })

  describe('a workspace of several people', () => {
    lockJourneys({ service, directory: files.path, run, write })
  })

  templateJourneys({ directory: files.path, run, write, remove })

  describe('a question that becomes an endpoint', () => {
    const question = `SELECT project, count() AS entries FROM edge_logs ${bound} AND project = @project GROUP BY project`
    const file = 'asked/endpoints/asked.entries.sql'
    const deploy = (...flags: string[]) => run('deploy', 'asked', ...flags)
    const edit = (from: string, to: string) => {
      const path = join(files.path, file)
      writeFileSync(path, readFileSync(path, 'utf8').replace(from, to))
    }

    test('runs with sql, and is written to a file', async () => {
      const entry = JSON.stringify({ project: 'asked', message: 'one' })
      expect((await runWith({ input: entry }, 'logs', 'send', '--source', 'edge_logs')).code).toBe(0)
      const asked = await run('sql', question, '-p', 'project=asked', '--format', 'csv')
      expect(asked.stdout).toBe('"project","entries"\n"asked",1\n')
      write('asked/endpoints/.gitkeep', '')
      const created = await runWith(
        { input: question },
        ...['endpoint', 'new', 'asked.entries', 'asked', '--query', '-', '-p', 'project=asked'],
      )
      expect([created.code, created.stdout]).toEqual([
        0,
        expect.stringContaining('tests/asked.entries.yaml\n'),
      ])
    })

    test('is deployed and run; a change is replayed before it replaces the endpoint', async () => {
      edit('cache: none', 'cache: 1m')
      expect((await deploy('--strict', '--replay')).code).toBe(0)
      edit('count() AS', '1 * count() AS')
      expect((await deploy('--dry-run', '--replay')).stdout).toContain(
        'no recent requests of asked.entries to replay\n',
      )
      expect((await run('endpoint', 'run', 'asked.entries', 'project=asked')).code).toBe(0)
      const replay = async (...flags: string[]) => {
        const { code, stdout } = await deploy('--json', ...flags)
        const { deployed, replays } = JSON.parse(stdout)
        return { code, deployed, requests: replays[0].requests }
      }
      expect(await replay('--dry-run', '--replay=strict')).toMatchObject({
        ...{ code: 0, deployed: false },
        requests: [{ outcome: 'same', before: { rows: 1 }, after: { rows: 1 } }],
      })

      edit('1 * count()', '2 * count()')
      const refused = await deploy('--replay=strict')
      expect(refused).toMatchObject({
        code: 1,
        stderr:
          'wellhead: 1 replayed request differs or fails; nothing was deployed. Use --replay to deploy anyway.\n',
      })
      expect(refused.stdout).toMatch(
        /^replayed 1 recent request of asked\.entries: 0 same, 1 different, 0 failed\n {2}different {2}\d+ uses?: 1 row removed; 1 row added; \S+ → \S+ ms, \d+ → \d+ rows read\n/,
      )
      expect(refused.stdout).not.toContain('project=asked')
      const shown = await deploy('--dry-run', '--replay', '--show-values')
      expect(shown.stdout).toContain(', project=asked: 1 row removed; 1 row added')
      expect(shown.stdout).toContain('{"before":{"entries":1,"project":"asked"},"after":null}')
      expect(shown.stdout).toContain('{"before":null,"after":{"entries":2,"project":"asked"}}')

      edit('2 * count()', 'count() + toUInt64(any(project))')
      const failing = await deploy('--replay=strict')
      expect([failing.code, failing.stdout]).toEqual([
        1,
        expect.stringMatching(/^ {2}failed {5}\d+ uses?: \w+: /m),
      ])
      edit('count() + toUInt64(any(project))', '2 * count()')
      expect(await replay('--replay')).toMatchObject({
        ...{ code: 0, deployed: true },
        requests: [{ outcome: 'different', removed_rows: 1, added_rows: 1 }],
      })
      const answer = await run('endpoint', 'run', 'asked.entries', 'project=asked')
      expect(JSON.parse(answer.stdout)).toEqual({ result: [{ project: 'asked', entries: 2 }] })
      expect(await remove('asked.entries')).toBe(204)
    })
  })
}
