import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { checkUnused } from '../../../src/core/engine/embedded-engine.ts'
import type { UsageRow } from '../../../src/features/plans/project-report.ts'
import { ask } from '../../support/callers.ts'
import { runCommand } from '../../support/command.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { childrenOf, spawnService } from '../../support/service-process.ts'

/** A service that ends and starts again with its data directory. */
const directory = scratchDirectory()
const at = (name: string) => join(directory.path, name)
const dayMs = 86_400_000
let service: RunningService
const open = async (name = 'data') => {
  service = await openService({ engine: 'embedded', dataDir: at(name) })
}
beforeAll(() => open())
afterAll(async () => {
  await service.close()
  directory.remove()
})

const admin = (method: string, path: string, body?: unknown) =>
  ask(service, service.adminToken.token, method, path, body)
const send = (entries: object[]) => admin('POST', '/api/logs?source=kept_logs', entries)
const entryOf = (project: string, days = 0) => ({
  project,
  event_message: 'entry',
  timestamp: new Date(Date.now() - days * dayMs).toISOString(),
})
const found = async (project: string) => {
  const search = { project, from: '2020-01-01T00:00:00Z', limit: 100 }
  return (await admin('POST', '/api/sources/kept_logs/search', search)).body.length
}
const stored = async (project: string) => {
  const sql = `SELECT count() FROM kept_logs WHERE project = '${project}'`
  const { body } = await service.engine.query({ sql, format: 'TabSeparated' }, { deadlineMs: 30_000 })
  return Number(body.toString())
}

test('plans, quotas and usage survive a restart, and hidden entries stay on the disk', async () => {
  await admin('POST', '/api/sources', { name: 'kept_logs' })
  await admin('POST', '/api/plans', { name: 'KEPT', retention_days: 1, entries_per_day: 5 })
  await admin('PUT', '/api/projects/kept-a?breaking=true', { plan: 'KEPT' })
  const entries = [0, 3, 3, 4].map((days) => entryOf('kept-a', days))
  expect(
    (await send([...entries, ...entries.map((entry) => ({ ...entry, project: 'kept-b' }))])).body.accepted,
  ).toBe(8)
  expect(await stored('kept-a')).toBe(4)
  await service.close()
  await open()
  expect((await admin('GET', '/api/projects/kept-a')).body).toMatchObject({ plan: 'KEPT', entries: 4 })
  const { body } = await send([entryOf('kept-a'), entryOf('kept-a')])
  expect(body).toMatchObject({ accepted: 1, errors: [{ index: 1, reason: 'quota_exceeded' }] })
  expect((await admin('GET', '/api/project-usage?project=kept-a')).body).toMatchObject([{ entries: 5 }])
  expect(await stored('kept-a')).toBe(5)
  expect(await stored('kept-b')).toBe(4)
})

test('an erasure continues after a restart, and is applied again to an older backup before it is ready', async () => {
  // One is ahead of the clock, so that a later entry has an earlier time.
  await send([entryOf('gone-a', -1 / 48), entryOf('gone-a', 2), entryOf('gone-b')])
  const from = ['--url', service.url, '--token', service.adminToken.token]
  const backedUp = await runCommand(['backup', at('backup'), ...from])
  expect(backedUp.code, backedUp.stderr).toBe(0)
  const dry = await runCommand(['erase', '--project', 'gone-a', '--dry-run', ...from])
  expect([dry.code, dry.stdout]).toEqual([0, '2 entries of project gone-a would be erased.\n'])
  const late = await runCommand(['erase', '--project', 'gone-a', '--dry-run', '--from', '1d', ...from])
  expect([late.code, late.stdout]).toEqual([0, '1 entry of project gone-a would be erased.\n'])
  const begun = await runCommand(['erase', '--project', 'gone-a', '--no-wait', '--json', ...from])
  expect(begun.code, begun.stderr).toBe(0)
  const { id } = JSON.parse(begun.stdout)
  await send([entryOf('gone-a')])
  await service.close()
  await open()
  expect(await found('gone-a')).toBe(1)
  const isDone = () =>
    expect.poll(async () => (await admin('GET', `/api/erasures/${id}`)).body.state).toBe('done')
  await isDone()
  expect([await stored('gone-a'), await stored('gone-b')]).toEqual([1, 1])
  await service.close()

  const restoreTo = (to: string, ...rest: string[]) =>
    runCommand(['restore', at('backup'), '--data-dir', at(to), ...rest])
  const forgotten = await restoreTo('forgotten', '--no-open')
  expect([forgotten.code, forgotten.stderr]).toEqual([0, expect.stringContaining('again with --erasures')])
  const absent = await restoreTo('absent', '--erasures', at('absent.jsonl'))
  expect([absent.code, absent.stderr]).toEqual([1, expect.stringContaining('There is no file')])
  const restored = await restoreTo('restored', '--erasures', join(at('data'), 'erasures.jsonl'))
  expect(restored.code, restored.stderr).toBe(0)
  await open('restored')
  expect(await found('gone-a')).toBe(0)
  await isDone()
  expect([await stored('gone-a'), await stored('gone-b')]).toEqual([0, 1])
})

test('a list of erasures that was lost is written again', async () => {
  const path = join(at('restored'), 'erasures.jsonl')
  const before = readFileSync(path, 'utf8')
  await service.close()
  rmSync(path)
  await open('restored')
  const ids = (text: string) => [...text.matchAll(/"id":"([^"]+)"/g)].map(([, id]) => id)
  expect(ids(before)).toHaveLength(1)
  expect(ids(readFileSync(path, 'utf8'))).toEqual(ids(before))
})

test('a backup that lists erasures is restored with the list of now, or with a decision against it', async () => {
  const from = ['--url', service.url, '--token', service.adminToken.token]
  expect((await runCommand(['backup', at('later'), ...from])).code).toBe(0)
  const restore = ['restore', at('later'), '--no-open', '--data-dir']
  const refused = await runCommand([...restore, at('undecided')])
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('use --no-erasures')])
  expect(existsSync(at('undecided'))).toBe(false)
  const wrong = async (text: string) => {
    writeFileSync(at('wrong.jsonl'), text)
    const { code, stderr } = await runCommand([...restore, at('wrong'), '--erasures', at('wrong.jsonl')])
    expect([code, existsSync(at('wrong'))]).toEqual([1, false])
    return stderr
  }
  for (const text of ['', 'garbage', '{"project":"gone-a"}']) {
    expect(await wrong(text)).toContain('lists no erasures')
  }
  const list = readFileSync(join(at('restored'), 'erasures.jsonl'), 'utf8')
  expect(await wrong(list.replaceAll(/"id":"[^"]+"/g, `"id":"${randomUUID()}"`))).toContain('fewer erasures')
  const listed = await runCommand([
    ...restore,
    at('listed'),
    '--erasures',
    join(at('restored'), 'erasures.jsonl'),
  ])
  expect(listed.code, listed.stderr).toBe(0)
  const decided = await runCommand([...restore, at('decided'), '--no-erasures'])
  expect([decided.code, decided.stderr]).toEqual([0, expect.not.stringContaining('--erasures')])
})

test('usage has every acknowledged entry after the service was killed', async () => {
  const token = 'a-token-that-stays'
  const environment = {
    WELLHEAD_ADMIN_TOKEN: token,
    WELLHEAD_DATA_DIR: at('killed'),
    WELLHEAD_STATISTICS: 'off',
  }
  const first = spawnService([], { ...environment, WELLHEAD_PORT: '0' })
  const url = await first.ready()
  const entries = (project: string, count: number) => Array.from({ length: count }, () => ({ project }))
  const post = (body: object[]) => ask({ url }, token, 'POST', '/api/logs?source=edge_logs', body)
  // The last ones are younger than any count that was stored.
  for (let n = 0; n < 5; n++) expect((await post(entries('counted', 3))).status).toBe(200)
  expect((await post([...entries('counted', 2), ...entries('other "one"', 4)])).status).toBe(200)
  const engines = childrenOf(first.child.pid as number)
  for (const pid of [first.child.pid as number, ...engines]) process.kill(pid, 'SIGKILL')
  await first.exit
  // The engine gives up its lock when its last thread has ended.
  await vi.waitFor(() => checkUnused(at('killed')), 20_000)
  for (const _ of ['after the crash', 'after another start']) {
    const next = await openService({ engine: 'embedded', dataDir: at('killed'), environment })
    try {
      const { body } = await ask(next, token, 'GET', '/api/project-usage')
      expect(body.map(({ project, entries }: UsageRow) => [project, entries])).toEqual([
        ['counted', 17],
        ['other "one"', 4],
      ])
    } finally {
      await next.close()
    }
  }
})

test('usage equals what is stored after the service was killed under load, also when senders repeat their requests', async () => {
  const token = 'a-token-that-stays'
  const environment = {
    WELLHEAD_ADMIN_TOKEN: token,
    WELLHEAD_DATA_DIR: at('loaded'),
    WELLHEAD_STATISTICS: 'off',
  }
  const first = spawnService([], { ...environment, WELLHEAD_PORT: '0' })
  const url = await first.ready()
  const sources = ['edge_logs', 'auth_logs', 'postgres_logs', 'function_logs']
  let acknowledged = 0
  /** Requests with a key that got no response, which senders repeat. */
  const open: { source: string; key: string }[] = []
  const post = (to: { url: string }, source: string, project: string, key?: string) =>
    ask(to, token, 'POST', `/api/logs?source=${source}`, [{ project }, { project }], {
      ...(key !== undefined && { 'Idempotency-Key': key }),
    })
  const sender = async (source: string, isKeyed: boolean) => {
    for (let n = 0; ; n++) {
      const key = isKeyed ? `${source} ${n}` : undefined
      try {
        await post({ url }, source, isKeyed ? 'keyed' : 'unkeyed', key)
        acknowledged++
      } catch {
        if (key !== undefined) open.push({ source, key })
        return
      }
    }
  }
  const senders = sources.flatMap((source) => [sender(source, true), sender(source, false)])
  await vi.waitFor(() => expect(acknowledged).toBeGreaterThan(50), 60_000)
  // The engine still stores what it has received before it ends.
  process.kill(first.child.pid as number, 'SIGKILL')
  await Promise.all([first.exit, ...senders])
  await vi.waitFor(() => checkUnused(at('loaded')), 20_000)
  const next = await openService({ engine: 'embedded', dataDir: at('loaded'), environment })
  try {
    const compare = async () => {
      const { body } = await ask(next, token, 'GET', '/api/project-usage')
      const used = body.map(({ project, entries }: UsageRow) => [project, entries])
      const all = sources.map((source) => `SELECT project FROM ${source}`).join(' UNION ALL ')
      const query = `SELECT project, toUInt32(count()) AS n FROM (${all}) GROUP BY project ORDER BY project`
      const stored = await ask(next, token, 'POST', '/api/sql', { query })
      expect(used).toEqual(
        stored.body.result.map(({ project, n }: { project: string; n: number }) => [project, n]),
      )
    }
    await compare()
    for (const { source, key } of open) expect((await post(next, source, 'keyed', key)).status).toBe(200)
    await compare()
  } finally {
    await next.close()
  }
})
