import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { schemaVersion } from '../../../src/core/catalog/migrations.ts'
import { askEngine } from '../../support/ask-engine.ts'
import { ask } from '../../support/callers.ts'
import { runCommand, startCommand } from '../../support/command.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { openService } from '../../support/service.ts'
import { type ServiceProcess, spawnService } from '../../support/service-process.ts'
import { dropDatabase, environmentOf, newDatabase, type SharedServer } from '../../support/worker-server.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const { path: scratch, remove } = scratchDirectory()
const at = (...path: string[]) => join(scratch, ...path)
const adminToken = 'token-of-two-neighbors'
const next = { version: '99.0.0', schema: schemaVersion + 1, column: 'later' }

/** A copy of the built checkout that is the next version: it has one more migration. */
const nextVersion = at('next/dist/main.js')

beforeAll(() => {
  mkdirSync(at('next'))
  for (const part of ['dist', 'shipped'])
    cpSync(join(repository, part), at('next', part), { recursive: true })
  symlinkSync(join(repository, 'node_modules'), at('next/node_modules'))
  const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
  writeFileSync(at('next/package.json'), JSON.stringify({ ...manifest, version: next.version }))
  const file = at('next/dist/commands.js')
  const code = readFileSync(file, 'utf8')
  // FAIL_MIGRATION ends the process between two statements, as a power cut would.
  const added = `{ id: ${next.schema}, statements: ({ database }) => [
    \`ALTER TABLE \${database}._catalog ADD COLUMN IF NOT EXISTS ${next.column} String\`,
    ...(process.env.FAIL_MIGRATION ? ['SELECT throwIf(1)'] : []),
  ] }`
  const changed = code.replace(/(?<=const migrations = \[\{[^\]]*\})\]/, `, ${added}]`)
  expect(changed).not.toBe(code)
  writeFileSync(file, changed)
})
afterAll(remove)

const started: ServiceProcess[] = []
afterAll(() => {
  for (const { child } of started) child.kill('SIGKILL')
})

/** This version runs in this process, unless it refuses to. */
const open = (dataDir: string, environment: Record<string, string> = {}) =>
  openService({
    ...{ dataDir, engine: 'embedded' },
    environment: { WELLHEAD_ADMIN_TOKEN: adminToken, ...environment },
  })

const refused = (dataDir: string, environment: Record<string, string> = {}) =>
  runCommand(['serve', '--port', '0', '--data-dir', dataDir], {
    environment: { WELLHEAD_ADMIN_TOKEN: adminToken, ...environment },
  })

function startNext(dataDir: string, environment: Record<string, string> = {}) {
  const service = spawnService(
    ['--port', '0', '--data-dir', dataDir],
    { WELLHEAD_ADMIN_TOKEN: adminToken, WELLHEAD_LOG_FORMAT: 'json', ...environment },
    { command: [process.execPath, nextVersion, 'serve'] },
  )
  started.push(service)
  return service
}

const stop = async (service: ServiceProcess) => {
  service.child.kill('SIGTERM')
  expect(await service.exit).toBe(0)
}

const call = async (url: string, method: string, path: string, body?: unknown) => {
  const response = await ask({ url }, adminToken, method, path, body)
  expect([path, response.status]).toEqual([path, expect.toSatisfy((status) => status < 300)])
  return response.body
}
const endpoint = (name: string) => ({ name, query: 'SELECT 1 AS n' })
const store = (url: string, id: string) =>
  call(url, 'POST', '/api/logs?source=edge_logs', { id, project: 'kept' })
const stored = async (url: string) =>
  (await call(url, 'GET', '/api/endpoints/query/logs.all?project=kept')).result
    .map(({ id }: { id: string }) => id)
    .toSorted()

describe('the data of an embedded engine', () => {
  const data = at('data')
  const kept = join(data, `definitions-of-schema-${schemaVersion}`)
  const refusal = `is from Wellhead ${next.version} and has schema ${next.schema}; this version supports schemas up to ${schemaVersion}.`

  test('is copied before a migration, and a migration that was interrupted continues', async () => {
    const service = await open(data)
    await store(service.url, 'before')
    await call(service.url, 'POST', '/api/endpoints', endpoint('before'))
    await service.close()
    expect(existsSync(kept)).toBe(false)

    const interrupted = startNext(data, { FAIL_MIGRATION: '1' })
    expect(await interrupted.exit).not.toBe(0)
    expect(existsSync(join(kept, 'manifest.json'))).toBe(true)

    const upgraded = startNext(data)
    const upgradedUrl = await upgraded.ready()
    expect(upgraded.stdout()).toContain(JSON.stringify(kept))
    expect(await stored(upgradedUrl)).toEqual(['before'])
    const columns = await askEngine(data, `SELECT count() FROM system.columns WHERE name = '${next.column}'`)
    expect(columns).toBe('1\n')
    await call(upgradedUrl, 'POST', '/api/endpoints', endpoint('after'))
    const backup = await startCommand(['backup', at('backup'), '--data-dir', data], {
      command: [process.execPath, nextVersion],
      environment: { WELLHEAD_TOKEN: adminToken },
    }).result
    expect(backup).toMatchObject({ code: 0 })
    await stop(upgraded)
  })

  test('of a newer version is refused by every command, with the version that can open it', async () => {
    const { code, stderr } = await refused(data)
    expect([code, stderr]).toEqual([1, expect.stringContaining(refusal)])
    expect(stderr).toContain(`Start Wellhead ${next.version} or newer`)
    const doctor = await runCommand(['doctor', '--json', '--port', '0', '--data-dir', data])
    expect(doctor.code).toBe(1)
    expect(doctor.stdout).toContain(refusal)

    const restored = await runCommand(['restore', at('backup'), '--data-dir', at('restored')])
    expect([restored.code, restored.stderr]).toEqual([1, expect.stringContaining(refusal)])
    // A manifest that hides it: the data tells.
    const manifest = join(at('backup'), 'manifest.json')
    const text = readFileSync(manifest, 'utf8')
    writeFileSync(manifest, text.replace(`"schema": ${next.schema}`, `"schema": ${schemaVersion}`))
    const opened = await runCommand(['restore', at('backup'), '--data-dir', at('restored')])
    expect([opened.code, opened.stderr]).toEqual([1, expect.stringContaining(refusal)])
    expect(existsSync(at('restored'))).toBe(false)

    // A directory whose file was lost: the data tells, too.
    writeFileSync(join(data, 'version.json'), '{')
    expect(await refused(data)).toMatchObject({ code: 1, stderr: expect.stringContaining(refusal) })
    expect((await runCommand(['doctor', '--json', '--port', '0', '--data-dir', data])).stdout).toContain(
      refusal,
    )
  })

  test('can be taken back to the old version by what was kept', async () => {
    const back = at('back')
    const restored = await runCommand(['restore', kept, '--data-dir', back])
    expect(restored).toMatchObject({ code: 0, stderr: expect.not.stringContaining('alert-key') })
    const service = await open(back)
    const { url } = service
    const names = (await call(url, 'GET', '/api/endpoints')).map(({ name }: { name: string }) => name)
    expect(names).toContain('before')
    expect(names).not.toContain('after')
    await store(url, 'again')
    expect(await stored(url)).toEqual(['again'])
    await service.close()
  })
})

describe('two versions on one ClickHouse server', () => {
  let database: SharedServer
  beforeAll(async () => {
    database = await newDatabase()
  })
  afterAll(() => dropDatabase(database))

  test('work side by side during a rolling upgrade; an old one that starts later is refused', async () => {
    const settings = environmentOf(database)
    const old = await open(at('old'), settings)
    const oldUrl = old.url
    await store(oldUrl, '1-old')
    await call(oldUrl, 'POST', '/api/endpoints', endpoint('by.old'))
    const upgraded = startNext(at('new'), settings)
    const newUrl = await upgraded.ready()
    expect(upgraded.stdout()).toContain(`"_catalog_of_schema_${schemaVersion}"`)

    for (const [one, other, name] of [
      [oldUrl, newUrl, 'while.old'],
      [newUrl, oldUrl, 'while.new'],
    ] as const) {
      await store(one, `2-${name}`)
      await call(one, 'POST', '/api/endpoints', endpoint(name))
      const seen = async () => (await ask({ url: other }, adminToken, 'GET', `/api/endpoints/${name}`)).status
      await expect.poll(seen).toBe(200)
      await call(other, 'PATCH', `/api/endpoints/${name}`, { description: 'changed by the other version' })
    }
    const all = ['1-old', '2-while.new', '2-while.old']
    expect([await stored(oldUrl), await stored(newUrl)]).toEqual([all, all])

    expect(await refused(at('late'), settings)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`is from Wellhead ${next.version} and has schema ${next.schema}`),
    })
    await old.close()
    expect(await stored(newUrl)).toEqual(all)
    await stop(upgraded)
  })
})
