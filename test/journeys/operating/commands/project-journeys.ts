import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { ask } from '../../../support/callers.ts'
import { runCommand } from '../../../support/command.ts'
import { scratchDirectory } from '../../../support/scratch.ts'
import type { LocalService } from './cli.ts'

/** Plans of projects, with commands and in a workspace. */
export function projectJourneys(service: () => LocalService): void {
  const { path, remove } = scratchDirectory()
  afterAll(remove)
  const write = (file: string, content: string) => writeFileSync(join(path, file), content)
  const run = (...args: string[]) =>
    runCommand(args, { cwd: path, environment: { WELLHEAD_DATA_DIR: service().dataDir } })
  const planOf = async (project: string) =>
    (await ask(service(), service().token, 'GET', `/api/projects/${project}`)).body.plan

  describe('plans of projects', () => {
    mkdirSync(join(path, 'endpoints'))
    mkdirSync(join(path, 'plans'))
    write('plans/w.pro.yaml', 'retention_days: 30\n')
    write('plans/w.free.yaml', 'retention_days: 1\nentries_per_day: 50\n')

    test('are those of projects.yaml, which is checked, compared and deployed after the plans', async () => {
      write('projects.yaml', 'w-acme: w.prp\n')
      expect((await run('diff')).stdout).toBe(
        'projects.yaml:1:1: w-acme: No plan has the name "w.prp". Did you mean w.pro? Create plans/w.prp.yaml, or use default.\n',
      )
      write('projects.yaml', 'w-acme: 3\n')
      expect((await run('check')).stdout).toContain('projects.yaml:1:1: w-acme must be the name of a plan')
      write('projects.yaml', 'w-acme: w.pro\nw-beta: w.pro\nw-none: default\n')
      const { code, stdout } = await run('diff', '--exit-code')
      expect([code, stdout]).toEqual([
        1,
        expect.stringContaining('updated project w-acme: plan default → w.pro'),
      ])
      // An infinite retention becomes a finite one, which hides nothing.
      expect(stdout).toContain('warning     w.pro shows fewer days; hiding entries requires --breaking')
      const deployed = await run('deploy')
      expect([deployed.stderr, deployed.code]).toEqual(['', 0])
      expect(deployed.stdout).toMatch(/2 created, 0 updated, 0 unchanged, 2 plans assigned\.\n$/)
      expect([await planOf('w-acme'), await planOf('w-beta')]).toEqual(['w.pro', 'w.pro'])
      expect((await run('diff', '--exit-code')).code).toBe(0)
    })

    test('that would hide entries are assigned with --breaking only', async () => {
      const timestamp = new Date(Date.now() - 40 * 86_400_000).toISOString()
      await ask(service(), service().token, 'POST', '/api/logs?source=edge_logs', [
        { project: 'w-old', timestamp },
      ])
      write('projects.yaml', 'w-old: w.pro\nw-new: w.pro\n')
      const refused = await run('deploy')
      expect([refused.code, refused.stderr]).toEqual([
        1,
        expect.stringContaining(
          '0 of 2 plans were assigned; those of w-old, w-new were not. Deploy again with --breaking to assign them anyway.',
        ),
      ])
      expect(refused.stderr).toContain(`1 entry of 1 project, from ${timestamp}`)
      expect(await planOf('w-old')).not.toBe('w.pro')
      expect((await run('project', 'plan', 'w-old', 'w.pro')).code).toBe(1)
      expect((await run('deploy', '--breaking')).stderr).toBe('')
      expect([await planOf('w-old'), await planOf('w-new')]).toEqual(['w.pro', 'w.pro'])
      await run('project', 'plan', 'w-old', 'default')
      await run('project', 'plan', 'w-new', 'default')
    })

    test('stay as they are without an entry, and are written by pull', async () => {
      write('projects.yaml', 'w-acme: w.pro\n')
      expect((await run('diff', '--exit-code')).code).toBe(0)
      expect(await planOf('w-beta')).toBe('w.pro')
      rmSync(join(path, 'projects.yaml'))
      expect((await run('pull', '--force')).stdout).toContain('written projects.yaml\n')
      const pulled = readFileSync(join(path, 'projects.yaml'), 'utf8')
      expect(pulled).toContain('w-acme: w.pro\nw-beta: w.pro\n')
      expect((await run('pull')).stdout).toContain('unchanged projects.yaml\n')
    })

    test('need an admin, and a token for CI deploys nothing with them', async () => {
      const made = await ask(service(), service().token, 'POST', '/api/access-tokens', { scopes: ['deploy'] })
      const { token } = made.body
      write('projects.yaml', 'w-acme: w.free\n')
      const refused = await run('deploy', '--breaking', '--url', service().url, '--token', token)
      expect([refused.code, refused.stderr]).toEqual([
        1,
        expect.stringContaining('projects.yaml requires a token with the scope admin; nothing was deployed.'),
      ])
      expect(await planOf('w-acme')).toBe('w.pro')
      write('projects.yaml', 'w-acme: w.pro\n')
      const unchanged = await run('deploy', '--url', service().url, '--token', token)
      expect([unchanged.stderr, unchanged.code]).toEqual(['', 0])
    })

    test('of forty customers are compared, assigned and pulled, whatever their names', async () => {
      const customers = Array.from({ length: 38 }, (_, n) => `w-many-${String(n).padStart(2, '0')}`)
      const names = [...customers, '007', 'true']
      const lines = [...customers, '"007"', '"true"'].map((name) => `${name}: w.pro\n`).join('')
      write('projects.yaml', lines)
      const { stdout } = await run('diff')
      for (const name of names) expect(stdout).toContain(`updated project ${name}: plan default → w.pro\n`)
      expect((await run('deploy', '--breaking')).stdout).toMatch(/, 40 plans assigned\.\n$/)
      expect((await run('diff', '--exit-code')).code).toBe(0)
      expect(await planOf('007')).toBe('w.pro')
      // Plans that are the default ones are not lost by not being pulled.
      write('projects.yaml', `${lines}w-acme: w.pro\nw-beta: w.pro\nw-none: default\n`)
      expect((await run('pull')).stdout).toContain('unchanged projects.yaml\n')
      rmSync(join(path, 'projects.yaml'))
      expect((await run('pull', '--force')).code).toBe(0)
      expect(readFileSync(join(path, 'projects.yaml'), 'utf8')).toContain('"007": w.pro\n')
      expect((await run('diff', '--exit-code')).code).toBe(0)
      write('projects.yaml', names.map((name) => `"${name}": default\n`).join(''))
      expect((await run('deploy')).stdout).toMatch(/, 40 plans assigned\.\n$/)
      rmSync(join(path, 'projects.yaml'))
    })

    test('are listed, shown and set by commands', async () => {
      expect((await run('project', 'plan', 'w-acme', 'w.free')).stdout).toBe('w-acme has the plan w.free.\n')
      expect((await run('project', 'list', '--search', 'w-acme')).stdout).toMatch(
        /^PROJECT +PLAN +ENTRIES +BYTES +LAST ENTRY AT\nw-acme +w\.free +0 +0 /,
      )
      const shown = JSON.parse((await run('project', 'show', 'w-acme', '--json')).stdout)
      expect(shown).toMatchObject({
        project: 'w-acme',
        limits: { retention_days: 1, entries_per_day: 50, bytes_per_day: null },
        today: { entries: 0, bytes: 0, requests: 0 },
      })
      expect(await run('project', 'usage', 'w-acme')).toMatchObject({
        code: 0,
        stderr: 'Nothing was sent or requested.\n',
      })
      expect((await run('project', 'plan', 'w-acme', 'w.none')).stderr).toContain(
        'No plan has the name "w.none"',
      )
    })
  })
}
