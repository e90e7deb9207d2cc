import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { CommandResult } from '../../../support/command.ts'
import type { LocalService } from './cli.ts'

interface LockStage {
  service: () => LocalService
  directory: string
  run: (...args: string[]) => Promise<Omit<CommandResult, 'signal'>>
  write: (path: string, content: string) => void
}

/** Two people who deploy the same workspace, and change definitions in other ways. */
export function lockJourneys({ service, directory, run, write }: LockStage): void {
  const id = 'a7d1c1f4-3f0e-4f5c-8f0d-2f6f0e8b7c21'
  const lock = join(directory, 'team/wellhead.lock')
  const api = async (token: string, method: string, path: string, body?: object) => {
    const headers = { 'X-API-KEY': token, ...(body && { 'Content-Type': 'application/json' }) }
    const response = await fetch(`${service().url}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    return response.status === 204 ? {} : ((await response.json()) as Record<string, string>)
  }
  const tokenOf = async (description: string) =>
    String(
      (await api(service().token, 'POST', '/api/access-tokens', { scopes: ['deploy'], description })).token,
    )
  const runAs = (token: string, ...args: string[]) => run(...args, '--url', service().url, '--token', token)
  const endpoint = (n: number) =>
    write('team/endpoints/team.count.sql', `/*\nid: ${id}\n*/\nSELECT ${n} AS n\n`)
  const dashboard = (title: string) => write('team/dashboards/team-board.yaml', `title: ${title}\n`)
  const lines = () =>
    readFileSync(lock, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('http'))
  const patch = (token: string, description: string) =>
    api(token, 'PATCH', '/api/endpoints/team.count', { description })

  test('deploy and diff refuse to replace a version of somebody else that the workspace has not seen', async () => {
    const [ada, bob] = [await tokenOf('Ada'), await tokenOf('Bob')]
    const { url } = service()
    endpoint(1)
    dashboard('one')
    expect((await runAs(ada, 'deploy', 'team')).code).toBe(0)
    expect(lines()).toEqual([`${url} dashboards/team-board 1`, `${url} endpoints/team.count 1`])

    const { updated_at } = await patch(bob, 'changed in the console')
    endpoint(2)
    const before = readFileSync(lock, 'utf8')
    const named = `  elsewhere   version 2 by Bob at ${updated_at}\n`
    for (const command of [['diff'], ['deploy', '--dry-run'], ['deploy']]) {
      const refused = await runAs(ada, ...command, 'team')
      expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining(named) })
      expect(refused.stderr).toMatch(
        /^wellhead: 1 definition was changed by somebody else; .*Run wellhead pull to get the changes, or use --overwrite to deploy anyway\.\n$/,
      )
    }
    const report = await runAs(ada, 'deploy', 'team', '--json')
    expect(JSON.parse(report.stdout)).toMatchObject({
      deployed: false,
      endpoints: [{ name: 'team.count', elsewhere: { version: 2, by: 'Bob', at: updated_at } }],
    })
    expect(readFileSync(lock, 'utf8')).toBe(before)
    expect((await runAs(ada, 'diff', 'team', '--overwrite')).code).toBe(0)
    // Bob has seen what he made.
    expect((await runAs(bob, 'diff', 'team')).code).toBe(0)
    expect((await runAs(ada, 'deploy', 'team', '--overwrite')).code).toBe(0)
    expect(lines()).toContain(`${url} endpoints/team.count 3`)

    // Without the file, what the caller made itself is seen, but nothing of others.
    rmSync(lock)
    endpoint(3)
    expect((await runAs(ada, 'deploy', 'team')).code).toBe(0)
    rmSync(lock)
    endpoint(4)
    expect(await runAs(bob, 'deploy', 'team')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^ {2}elsewhere {3}version 4 by Ada at /m),
    })
    expect(existsSync(lock)).toBe(false)
  })

  test('pull takes the version of somebody else, and a deployment of it is accepted', async () => {
    const [ada, bob] = [await tokenOf('Ada again'), await tokenOf('Bob again')]
    await patch(bob, 'pulled')
    expect((await runAs(ada, 'pull', 'team.count', '--force', '--directory', 'team')).code).toBe(0)
    expect(lines()).toEqual([`${service().url} endpoints/team.count 5`])
    endpoint(5)
    expect((await runAs(ada, 'deploy', 'team')).code).toBe(0)
    expect(lines()).toEqual([
      `${service().url} dashboards/team-board 1`,
      `${service().url} endpoints/team.count 6`,
    ])
    // Lines of other services stay.
    write(
      'team/wellhead.lock',
      `${readFileSync(lock, 'utf8')}https://other.example.com endpoints/team.count 90\n`,
    )
    endpoint(6)
    await patch(bob, 'again')
    expect((await runAs(ada, 'deploy', 'team')).code).toBe(1)
    expect((await runAs(ada, 'deploy', 'team', '--overwrite')).code).toBe(0)
    expect(lines()[2]).toBe('https://other.example.com endpoints/team.count 90')
  })

  test('--prune deletes nothing that somebody else made and the workspace has not seen', async () => {
    const ada = await tokenOf('Ada who prunes')
    await api(service().token, 'POST', '/api/dashboards', { name: 'of-others' })
    const pruned = await runAs(ada, 'deploy', 'team', '--prune', '--yes', '--dry-run')
    expect([pruned.code, pruned.stdout]).toEqual([
      1,
      expect.stringMatching(
        /^deleted dashboard of-others .*\n {2}elsewhere {3}version 1 by admin token at /m,
      ),
    ])
    await api(service().token, 'DELETE', '/api/dashboards/of-others')
  })

  test('a lock file that cannot be read is reported, and a local service has no lines of its own versions', async () => {
    write('team/wellhead.lock', '{}\n')
    expect(await run('deploy', 'team')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^wellhead: wellhead\.lock:1: .*delete it and run wellhead pull/),
    })
    rmSync(lock)
    endpoint(7)
    expect((await run('deploy', 'team', '--overwrite')).code).toBe(0)
    expect(lines()).toEqual([`${service().url} dashboards/team-board 1`])
    dashboard('two')
    expect((await run('deploy', 'team')).code).toBe(0)
    expect(readFileSync(lock, 'utf8')).toBe('')
    for (const path of ['dashboards/team-board', 'endpoints/team.count']) {
      await api(service().token, 'DELETE', `/api/${path}`)
    }
  })
}
