import { execFile } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { version } from '../../../src/core/base/package-file.ts'
import { fillDisk } from '../../../torture/faults/fill-disk.ts'
import { LoopDisk, needsForLoopDisk } from '../../../torture/faults/loop-disk.ts'
import { askEngine } from '../../support/ask-engine.ts'
import { runCommand } from '../../support/command.ts'
import { many } from '../../support/engines.ts'
import { Ledger } from '../../support/ledger.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { sendUntilStopped } from '../../support/sender.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { type ServiceProcess, spawnService } from '../../support/service-process.ts'
import { installPackage } from '../operating/packed-package.ts'

/** The packed package serves and is backed up; the working copy serves the restored data. */
const directory = scratchDirectory()
const at = (...path: string[]) => join(directory.path, ...path)
const ledger = new Ledger()
let command: string
let printed: string
let service: ServiceProcess
let url: string
let token: string
let restored: RunningService | undefined

beforeAll(async () => {
  ;({ command, printed } = await installPackage(directory.path))
  service = spawnService(
    ['--port', '0'],
    { WELLHEAD_LOG_LEVEL: 'warn' },
    { command: [command, 'serve'], cwd: directory.path },
  )
  url = await service.ready()
  token = readFileSync(at('data', 'admin-token'), 'utf8').trim()
})
afterAll(async () => {
  service?.child.kill('SIGKILL')
  await service?.exit
  await restored?.close()
  directory.remove()
})

const wellhead = (...args: string[]) => promisify(execFile)(command, args, { cwd: directory.path })

test('a command of a checkout that was not built prints its own output', () => {
  expect(printed).toBe(`${version}\n`)
})

const call = (base: string, path: string, init: RequestInit = {}, key = token) =>
  fetch(base + path, {
    ...init,
    headers: { 'X-API-KEY': key, 'Content-Type': 'application/json', ...init.headers },
  })
const post = (path: string, body: object) => call(url, path, { method: 'POST', body: JSON.stringify(body) })
const json = async (base: string, path: string, key = token) => (await call(base, path, {}, key)).json()

/** A source with three entries that are ten days old and one of today. */
async function makeAged(name: string): Promise<void> {
  expect((await post('/api/sources', { name, retention_days: 90 })).status).toBe(201)
  const old = new Date(Date.now() - 10 * 86_400_000).toISOString()
  const entries = ['old-1', 'old-2', 'old-3'].map((id) => ({ id, project: 'aged', timestamp: old }))
  const sent = await post(`/api/logs?source=${name}`, [...entries, { id: 'new', project: 'aged' }])
  expect(await sent.json()).toMatchObject({ accepted: 4 })
}

/** Creates parts that are empty because all of their rows expired. */
async function makeExpired(): Promise<void> {
  await makeAged('expired_logs')
  const ttl = 'toDateTime(timestamp) + INTERVAL 5 DAY DELETE SETTINGS mutations_sync = 2'
  await askEngine(at('data'), `ALTER TABLE wellhead.expired_logs MODIFY TTL ${ttl}`)
  const rows = "SELECT sum(rows), countIf(rows = 0) FROM system.parts WHERE active AND table = 'expired_logs'"
  await expect.poll(() => askEngine(at('data'), rows)).toBe('1\t1\n')
}

/** Creates an expired part that still has rows, a column that is being filled, and a pending mutation. */
async function makeUnfinished(): Promise<void> {
  await makeAged('unfinished_logs')
  const table = 'wellhead.unfinished_logs'
  const statements = [
    `SYSTEM STOP MERGES ${table}`,
    `ALTER TABLE ${table} ADD COLUMN loud String MATERIALIZED upper(id)`,
    `ALTER TABLE ${table} MATERIALIZE COLUMN loud SETTINGS mutations_sync = 0`,
    `ALTER TABLE ${table} MODIFY TTL toDateTime(timestamp) + INTERVAL 5 DAY DELETE SETTINGS alter_sync = 0`,
    `INSERT INTO ${table} (project, id, timestamp) SELECT 'aged', 'older', now64(6) - INTERVAL 20 DAY`,
  ]
  for (const sql of statements) await askEngine(at('data'), sql)
}

const snapshot = () => join('data', 'engine', 'store', 'shadow', 'wellhead_backup')

test('the packed package serves from an empty directory', async () => {
  expect((await wellhead('--version')).stdout).toBe(`${version}\n`)
  expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: 'alive' })
  expect((await fetch(`${url}/ready`)).status).toBe(200)
  const entries = [1, 2, 3].map((n) => ({ id: `steady-${n}`, project: 'steady' }))
  expect((await post('/api/logs?source=auth_logs', entries as never)).status).toBe(200)
  const rows = await json(url, '/api/endpoints/query/logs.all?project=steady&project_tier=PRO')
  expect(rows).toEqual({ result: [] })
})

test('only one backup runs at a time, and its snapshot is removed when the reader leaves', async () => {
  const answers = await Promise.all([call(url, '/api/backup'), call(url, '/api/backup')])
  const [taken, refused] = answers.toSorted((a, b) => a.status - b.status) as [Response, Response]
  expect([taken.status, refused.status]).toEqual([200, 409])
  expect(refused.headers.get('retry-after')).toBe('10')
  expect(await refused.json()).toMatchObject({ error: { code: 'backup_unavailable' } })
  expect(taken.headers.get('content-type')).toBe('application/x-tar')
  await taken.body?.cancel()
  await vi.waitFor(() => expect(existsSync(at(snapshot()))).toBe(false))
})

test('a backup is refused if a part is damaged', async () => {
  const parts = "SELECT path FROM system.parts WHERE active AND table = 'auth_logs'"
  const part = resolve(at('data', 'engine', 'store'), (await askEngine(at('data'), parts)).trim())
  const count = join(part, 'count.txt')
  const rows = readFileSync(count)
  truncateSync(count)
  const refused = await call(url, '/api/backup')
  writeFileSync(count, rows)
  expect(refused.status).toBe(409)
  const message = expect.stringMatching(/of table auth_logs is damaged.* take the backup again/)
  expect(await refused.json()).toMatchObject({ error: { code: 'backup_unavailable', message } })
  expect(existsSync(at(snapshot()))).toBe(false)
})

test('a backup under load has everything acknowledged before, and the restored service returns the same results', {
  timeout: 400_000,
}, async () => {
  const definition = {
    name: 'steady.entries',
    query: 'SELECT id FROM auth_logs WHERE project = @project ORDER BY id',
    published: true,
  }
  expect((await post('/api/endpoints', definition)).status).toBe(201)
  const change = { query: `${definition.query} DESC`, description: 'Newest last.' }
  await call(url, '/api/endpoints/steady.entries', { method: 'PATCH', body: JSON.stringify(change) })
  const tenant = await (await post('/api/access-tokens', { scopes: ['query'], project: 'steady' })).json()
  await post('/api/sources', { name: 'shop_logs', retention_days: 7 })
  const notify = [{ type: 'webhook', url: 'https://1.1.1.1/hook' }]
  const alert = { name: 'signed', endpoint: 'steady.entries', parameters: { project: 'steady' }, notify }
  const saved = await post('/api/alerts', { ...alert, when: 'rows > 3', enabled: false })
  expect(saved.status).toBe(201)
  await makeExpired()
  await makeUnfinished()
  const asked = '/api/endpoints/query/steady.entries'
  const managed = ['/api/endpoints', '/api/endpoints/steady.entries/versions', '/api/sources', '/api/alerts']
  const before = await Promise.all(managed.map((path) => json(url, path)))
  const answer = await json(url, asked, (tenant as { token: string }).token)
  expect(answer).toEqual({ result: [{ id: 'steady-3' }, { id: 'steady-2' }, { id: 'steady-1' }] })

  let stop = false
  const senders = Array.from({ length: many(8, 4) }, (_, i) =>
    sendUntilStopped({
      name: `s${i}`,
      keyed: i % 2 === 0,
      project: 'crash',
      call: (path, init) => call(url, path, init),
      stopped: () => stop,
      ledger,
    }),
  )
  await expect.poll(() => ledger.acknowledgedBatches).toBeGreaterThanOrEqual(many(200, 12))
  const safe = ledger.acknowledged()
  const { stdout } = await wellhead('backup', 'backup', '--json')
  const during = ledger.batches.length
  await expect.poll(() => ledger.batches.length).toBeGreaterThan(during)
  stop = true
  await Promise.all(senders)
  service.child.kill('SIGTERM')
  expect(await service.exit).toBe(0)
  expect(existsSync(at(snapshot()))).toBe(false)

  const manifest = JSON.parse(stdout)
  expect(manifest).toMatchObject({ directory: at('backup'), format: 1, wellhead: version })
  expect(manifest.tables).toContainEqual({ name: 'expired_logs', rows: 1 })
  expect(manifest.tables).toContainEqual({ name: 'unfinished_logs', rows: 5 })
  const { tables } = JSON.parse(readFileSync(at('backup', 'manifest.json'), 'utf8'))
  const expired = tables.find(({ name }: { name: string }) => name === 'expired_logs')
  expect(expired.parts).toHaveLength(1)
  const paths = ['backup', 'backup/data', 'backup/data/admin-token', 'backup/data/alert-key']
  const modes = paths.map((path) => statSync(at(path)).mode & 0o777)
  expect(modes).toEqual([0o700, 0o700, 0o600, 0o600])
  const { stdout: told, stderr: warned } = await wellhead('restore', 'backup', '--data-dir', 'new')
  expect(told).toContain(`Run: wellhead serve --data-dir ${at('new')}`)
  expect(warned).not.toContain('WARNING')

  restored = await openService({ dataDir: at('new'), engine: 'embedded' })
  const { engine, url: base, adminToken } = restored
  expect(adminToken).toMatchObject({ token, made: false })
  expect(await Promise.all(managed.map((path) => json(base, path)))).toEqual(before)
  expect(await json(base, asked, (tenant as { token: string }).token)).toEqual(answer)

  const kept = (table: string) =>
    `SELECT id FROM ${table} WHERE id = 'new' OR timestamp > now() - INTERVAL 5 DAY`
  for (const table of ['expired_logs', 'unfinished_logs']) {
    const { body } = await engine.query(
      { sql: kept(table), format: 'TabSeparatedRaw' },
      { deadlineMs: 60_000 },
    )
    expect(body.toString()).toBe('new\n')
  }

  const stored = async () => {
    const sql = 'SELECT id, toUInt32(count()) AS n FROM edge_logs GROUP BY id ORDER BY id'
    const { body } = await engine.query({ sql, format: 'TabSeparatedRaw' }, { deadlineMs: 60_000 })
    return new Map(
      body
        .toString()
        .trim()
        .split('\n')
        .map((line) => line.split('\t') as [string, string]),
    )
  }
  const found = await stored()
  expect(safe.filter((id) => !found.has(id))).toEqual([])
  expect([...found].filter(([, times]) => times !== '1')).toEqual([])
  // The backup has the counts of all entries that it has.
  const usage = (await json(base, '/api/project-usage?project=crash')) as { entries: number }[]
  expect(usage.reduce((sum, { entries }) => sum + entries, 0)).toBe(found.size)

  // Senders retry batches with keys; each is stored once, whether the backup has it or not.
  const withKeys = ledger.batches.filter((batch) => batch.keyed)
  const keyed = [...withKeys.slice(0, many(200, 4)), ...withKeys.slice(-many(200, 4))]
  for (const { ids } of keyed) {
    const key = ids[0]?.replace(/-\d+$/, '') as string
    const body = JSON.stringify(ids.map((id) => ({ id, project: 'crash', metadata: { key } })))
    const init = { method: 'POST', body, headers: { 'Idempotency-Key': key } }
    expect((await call(base, '/api/logs?source=edge_logs', init)).status).toBe(200)
  }
  const again = await stored()
  expect(keyed.flatMap(({ ids }) => ids).filter((id) => again.get(id) !== '1')).toEqual([])
  expect([...again].filter(([, times]) => times !== '1')).toEqual([])
})

test('a restore without the key of webhooks says so, and so does the alert', async () => {
  // As in backups of versions that left it out.
  rmSync(at('new', 'alert-key'))
  const run = (args: string[], environment = {}) => runCommand(args, { cwd: directory.path, environment })
  const taken = await run(['backup', 'keyless', '--url', restored?.url ?? '', '--token', token])
  expect(taken.code).toBe(0)
  const restore = (to: string, ...rest: string[]) => ['restore', 'keyless', '--data-dir', to, ...rest]
  const key = { WELLHEAD_ALERT_KEY: 'the key of that time, or another one' }
  expect((await run(restore('keyed', '--no-open'), key)).stderr).not.toContain('alert-key')
  expect(await run(restore('silent'))).toMatchObject({
    ...{
      code: 0,
      stderr: expect.stringMatching(/^The backup has no alert-key\. If its alerts have webhooks, nothing/m),
    },
  })
  const silent = await openService({ dataDir: at('silent'), engine: 'embedded' })
  const shown = () => json(silent.url, '/api/alerts/signed')
  expect(await shown()).toMatchObject({ state: 'ok', error: expect.stringContaining('alert-key') })
  // The key can be put back: it was not replaced by another one.
  copyFileSync(at('data', 'alert-key'), at('silent', 'alert-key'))
  expect(await shown()).toMatchObject({ error: null })
  await silent.close()
})

test.skipIf(needsForLoopDisk())(
  'a full disk keeps nothing of a backup or restore, and is named',
  async () => {
    const disk = new LoopDisk(directory.path, 600)
    try {
      fillDisk(disk.path, join(disk.path, 'filler'), 0)
      const to = join(disk.path, 'to')
      const service = ['--url', restored?.url ?? '', '--token', token]
      for (const args of [
        ['backup', to, ...service],
        ['restore', 'backup', '--data-dir', to],
      ]) {
        const { code, stderr } = await runCommand(args, { cwd: directory.path })
        const full = `the disk of ${to} is full. Nothing was kept. Free some space on it, or choose a directory on`
        expect([code, stderr]).toEqual([1, expect.stringContaining(full)])
      }
      expect(readdirSync(disk.path).toSorted()).toEqual(['filler', 'lost+found'])
    } finally {
      await disk.unmount()
    }
  },
)

test('the command refuses damaged backups and existing directories', async () => {
  const refusal = async (...args: string[]) => {
    const { code, stderr } = await runCommand(args, { cwd: directory.path })
    return `${code} ${stderr}`
  }
  const restore = (to: string) => refusal('restore', 'backup', '--data-dir', to)
  expect(await restore('new')).toMatch(/^1 wellhead: .*new is not empty/)
  rmSync(at('backup', 'data', 'admin-token'))
  expect(await restore('other')).toMatch(/^1 wellhead: .*data\/admin-token is missing/)
  expect(await refusal('backup', 'backup', '--url', url, '--token', token)).toMatch(
    /^1 wellhead: .*backup is not empty/,
  )
  expect(await refusal('restore', 'data', '--data-dir', 'other')).toMatch(
    /^1 wellhead: .*not a complete backup/,
  )
  expect(await refusal('restore', 'nowhere', '--data-dir', 'other')).toMatch(
    /^1 .*nowhere does not exist\.\n/,
  )
  expect(await refusal('restore', 'backup')).toMatch(/^2 wellhead: .*--data-dir/)
  expect(readdirSync(directory.path).filter((name) => /other|partial/.test(name))).toEqual([])
})
