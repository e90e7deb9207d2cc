import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runCommand } from '../../support/command.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { type AlertClient, type AlertStage, level } from './alert-client.ts'

export function savingJourneys({ service, receiver }: AlertStage, client: AlertClient): void {
  const { admin, create, show, change } = client

  describe('saving', () => {
    test.each([
      [{ endpoint: 'nothing' }, 'endpoint'],
      [{ parameters: {} }, 'project'],
      [{ parameters: { project: 'a', other: 'b' } }, 'other'],
      [{ when: 'any(missing) > 1' }, 'when'],
      [{ when: 'any(who) > 1' }, 'when'],
      [{ when: 'level > 1' }, 'when'],
      [{ every_seconds: 4 }, 'every_seconds'],
      [{ notify: [{ type: 'webhook', url: 'ftp://example.com/' }] }, 'notify.0.url'],
      [{ notify: [{ type: 'webhook', url: 'http://localhost:1/' }] }, 'notify.0.url'],
      [{ notify: [{ type: 'webhook', url: 'http://[::1]/' }] }, 'notify.0.url'],
      [{ notify: [{ type: 'slack', url: 'http://0x7f000002/' }] }, 'notify.0.url'],
      [{ state: 'firing', unknown: 1 }, 'unknown'],
    ])('refuses %j', async (fields, parameter) => {
      const good = { name: 'refused', endpoint: level.name, parameters: { project: 'a' }, when: 'rows > 0' }
      const { status, body } = await admin('POST', '/api/alerts', { ...good, ...fields })
      expect([status, body.error?.parameter]).toEqual([400, parameter])
    })

    test('keeps versions, and guards against lost updates', async () => {
      await create('versions', { enabled: true, when: 'rows > 5' })
      expect(
        (await admin('PATCH', '/api/alerts/versions', { when: 'rows > 6' }, { 'If-Match': '"2"' })).status,
      ).toBe(412)
      expect((await change('versions', { when: 'rows > 6' })).body).toMatchObject({
        version: 2,
        when: 'rows > 6',
      })
      const { body: versions } = await admin('GET', '/api/alerts/versions/versions')
      expect(versions.map(({ when }: { when: string }) => when)).toEqual(['rows > 6', 'rows > 5'])
      // An earlier version can be sent back.
      expect((await admin('PUT', '/api/alerts/versions', versions[1])).body).toMatchObject({
        version: 3,
        when: 'rows > 5',
      })
      await change('versions', { notify: [] })
      const restore = (version: number, headers = {}) =>
        admin('POST', `/api/alerts/versions/versions/${version}/restore`, undefined, headers)
      expect((await restore(2, { 'If-Match': '"3"' })).status).toBe(412)
      expect((await restore(9)).body.error.parameter).toBe('version')
      expect((await restore(2)).body).toMatchObject({
        version: 5,
        when: 'rows > 6',
        notify: [{ secret: expect.stringMatching(/^whsec_/) }],
      })
      expect((await admin('POST', '/api/alerts', { ...(await show('versions')) })).status).toBe(409)
    })

    test('shows a secret once, and stores none', async () => {
      const { notify } = await create('secret')
      const text = JSON.stringify([await show('secret'), (await admin('GET', '/api/alerts')).body])
      expect(text).not.toContain('whsec_')
      expect((await change('secret', { notify })).body.notify[0]).not.toHaveProperty('secret')
      await change('secret', { notify: [] })
      const { body } = await change('secret', { notify })
      expect(body.notify[0].secret).toMatch(/^whsec_/)
      expect(body.notify[0].secret).not.toBe(notify[0].secret)
      const stored = await service().engine.query(
        { sql: "SELECT body FROM _catalog WHERE kind = 'alert'", format: 'TSV' },
        { deadlineMs: 10_000 },
      )
      expect(stored.body.toString()).not.toContain(notify[0].secret.slice(6, 30))
    })
  })

  test('alerts are files of a workspace, and commands show and mute them', async () => {
    const files = scratchDirectory()
    const write = (path: string, content: string) => {
      mkdirSync(dirname(join(files.path, path)), { recursive: true })
      writeFileSync(join(files.path, path), content)
    }
    const run = (...args: string[]) =>
      runCommand(args, {
        cwd: files.path,
        environment: { WELLHEAD_URL: service().url, WELLHEAD_TOKEN: service().adminToken.token },
      })
    write('endpoints/filed.sql', '/*\nid: 8d8f7a53-6a5c-4a2f-9d5e-1c2f3a4b5c6d\n*/\nSELECT 1 AS n\n')
    const alert = `endpoint: filed\nevery_seconds: 3600\nnotify:\n  - type: webhook\n    url: ${receiver().url}/filed\nwhen: any(n) > 1\n`
    write('alerts/filed.yaml', alert.replace('any(n)', 'any(m)'))
    const { code, stdout } = await run('check')
    expect([code, stdout]).toEqual([
      1,
      expect.stringContaining('alerts/filed.yaml:6:1: filed has no column "m".'),
    ])
    write('alerts/filed.yaml', alert)
    expect((await run('diff')).stdout).toContain('created alert filed (version 1)\n')
    const deployed = await run('deploy')
    expect(deployed).toMatchObject({ code: 0, stdout: expect.stringContaining('created alert filed') })
    expect(deployed.stderr).toMatch(/^secret of filed for http:\S+\/filed: whsec_/)
    expect((await run('alert', 'mute', 'filed', '--for', '2h')).stdout).toMatch(/^filed is muted until 20/)
    write('alerts/filed.yaml', alert.replace('> 1', '>= 1'))
    expect((await run('diff')).stdout).toMatch(
      /updated alert filed[\s\S]*-when: any\(n\) > 1\n\+when: any\(n\) >= 1/,
    )
    expect((await run('deploy')).stdout).toContain('updated alert filed (version 2 → 3)\n')
    expect(await show('filed')).toMatchObject({
      version: 3,
      muted_until: expect.any(String),
      when: 'any(n) >= 1',
    })
    expect((await run('alert', 'list')).stdout).toMatch(/filed +(ok|firing) /)
    expect((await run('alert', 'test', 'filed')).stdout).toBe('firing, value 1\n')
    expect((await run('alert', 'show', 'filed')).stdout).toMatch(/when +any\(n\) >= 1\n/)
    rmSync(join(files.path, 'alerts/filed.yaml'))
    expect((await run('pull')).stdout).toContain('written alerts/filed.yaml\n')
    expect(readFileSync(join(files.path, 'alerts/filed.yaml'), 'utf8')).toContain('when: any(n) >= 1\n')
    expect((await run('diff', '--exit-code')).code).toBe(0)
    await create('unfiled', { endpoint: 'filed', parameters: {}, when: 'rows > 5', notify: [] })
    const pruned = await run('deploy', '--prune', '--yes')
    expect(pruned).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('deleted alert unfiled (version 1)\n'),
    })
    expect((await show('unfiled')).error.code).toBe('not_found')
    expect(await show('filed')).toMatchObject({ name: 'filed' })
    files.remove()
  })
}
