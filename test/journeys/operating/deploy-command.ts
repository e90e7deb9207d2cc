import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { runCommand } from '../../support/command.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import type { LocalService } from './cli.ts'

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
  const endpoint = (query: string) =>
    write('workspace/endpoints/orders.count.sql', `/*\nid: ${id}\n*/\n${query}\n`)
  const source = (days: number) => write('workspace/sources/order_logs.yaml', `retention_days: ${days}\n`)
  const run = (...args: string[]) =>
    runCommand(args, { cwd: files.path, environment: { WELLHEAD_DATA_DIR: service().dataDir } })
  const sourcesThere = async () => {
    const { stdout } = await run('source', 'list', '--json')
    const all = JSON.parse(stdout) as { name: string; retention_days: number }[]
    return all.filter(({ name }) => name === 'order_logs').map(({ retention_days }) => retention_days)
  }

  describe('a workspace with its own source', () => {
    test('a failed deployment removes the source that it created', async () => {
      source(14)
      endpoint('SELECT no_such_column FROM order_logs')
      expect(await run('deploy', 'workspace')).toMatchObject({
        code: 1,
        stdout: 'created source order_logs\n',
        stderr: expect.stringMatching(/removed source order_logs again[\s\S]*no_such_column/),
      })
      expect(await sourcesThere()).toEqual([])
    })

    test('deploys, and then nothing differs', async () => {
      endpoint('SELECT count() AS orders FROM order_logs')
      expect(await run('deploy', 'workspace')).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(
          /^created source order_logs\ncreated orders\.count \(version 1\)\nDeployed to /,
        ),
      })
      expect(await sourcesThere()).toEqual([14])
      expect((await run('diff', 'workspace', '--exit-code')).code).toBe(0)
    })

    test('rejects changes that delete entries or break callers, also in a dry run', async () => {
      source(3)
      for (const flags of [['--dry-run'], []]) {
        expect(await run('deploy', 'workspace', ...flags)).toMatchObject({
          code: 1,
          stderr: expect.stringMatching(/1 change would break callers or delete entries; .*--breaking/),
        })
      }
      expect(await sourcesThere()).toEqual([14])
      expect((await run('diff', 'workspace', '--exit-code')).code).toBe(1)
      expect(await run('deploy', 'workspace', '--breaking')).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('updated source order_logs: retention_days 14 → 3\n'),
      })
      expect(await sourcesThere()).toEqual([3])
      endpoint('SELECT count() AS sold FROM order_logs')
      const { code, stdout } = await run('deploy', 'workspace', '--dry-run', '--json')
      expect([code, JSON.parse(stdout)]).toMatchObject([
        1,
        { deployed: false, endpoints: [{ name: 'orders.count' }] },
      ])
    })

    test('reports file problems as JSON and deploys nothing', async () => {
      write('workspace/endpoints/broken.sql', 'no front matter')
      const { code, stdout } = await run('deploy', 'workspace', '--json')
      expect([code, JSON.parse(stdout)]).toMatchObject([1, { problems: [{ file: 'endpoints/broken.sql' }] }])
    })

    test('pulls what was deployed', async () => {
      mkdirSync(join(files.path, 'pulled'))
      const pulled = await run('pull', 'pulled')
      expect([pulled.code, pulled.stdout.split('\n')]).toEqual([
        0,
        expect.arrayContaining(['written sources/order_logs.yaml']),
      ])
      expect((await run('diff', 'pulled', '--exit-code')).code).toBe(0)
      expect((await run('endpoint', 'delete', 'orders.count', '--yes')).code).toBe(0)
      expect((await run('source', 'delete', 'order_logs', '--yes')).code).toBe(0)
    })
  })
}
