import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { version } from '../../../src/core/base/package-file.ts'
import { ask } from '../../support/callers.ts'
import { runCommand } from '../../support/command.ts'
import { type Expected, fillRelease, ofRelease, readRelease } from '../../support/release-data.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { openWithIssuer } from '../people/stage.ts'

/** One of each release; see scripts/release-archive.mjs. */
const archives = fileURLToPath(new URL('../../releases/', import.meta.url))
const { path: scratch, remove } = scratchDirectory()
afterAll(remove)

const embedded = { engine: 'embedded' } as const
const serve = async (dataDir: string, use: (service: RunningService) => Promise<void>) => {
  const service = await openService({ ...embedded, dataDir })
  try {
    await use(service)
  } finally {
    await service.close()
  }
}
/** Writes data/, backup/ and expected.json, as this version stores everything. */
async function makeArchive(directory: string): Promise<void> {
  const dataDir = join(directory, 'data')
  const { service, issuer } = await openWithIssuer({
    ...{ ...embedded, dataDir },
    environment: { WELLHEAD_ALERT_HOSTS: '127.0.0.1:9' },
  })
  try {
    const kept = await fillRelease(service, issuer)
    const expected: Expected = { ...kept, responses: await readRelease(service) }
    writeFileSync(join(directory, 'expected.json'), JSON.stringify(expected, null, 1))
    const archive = await fetch(`${service.url}/api/backup`, {
      headers: { 'X-API-KEY': service.adminToken.token },
    })
    mkdirSync(join(directory, 'backup'))
    const input = Buffer.from(await archive.arrayBuffer())
    execFileSync('tar', ['-x', '-C', join(directory, 'backup')], { input })
  } finally {
    await service.close()
    await issuer.close()
  }
}

async function check(directory: string, name: string): Promise<void> {
  const expected: Expected = JSON.parse(readFileSync(join(directory, 'expected.json'), 'utf8'))
  await serve(join(directory, name), async (service) => {
    // Warm keys are computed before anybody asks.
    const path = `/api/endpoints/query/shop.tiers?project=${ofRelease}`
    const cached = { headers: { 'Cache-Control': 'only-if-cached' } }
    await expect.poll(async () => (await service.call(path, cached)).status).toBe(200)
    const found = await readRelease(service)
    for (const [request, response] of Object.entries(expected.responses)) {
      expect(found[request], request).toMatchObject(response as object)
    }
    expect((await ask(service, expected.token, 'GET', path)).status).toBe(200)
    expect((await fetch(service.url + expected.link)).status).toBe(200)

    const sent = [{ id: 'after', project: ofRelease, metadata: { tier: 'free', amount: 2 } }]
    const token = service.adminToken.token
    const ok = async (method: string, to: string, body: unknown) =>
      expect([to, (await ask(service, token, method, to, body)).status]).toEqual([
        to,
        expect.toSatisfy((n) => n < 300),
      ])
    for (const source of ['edge_logs', 'shop_logs', 'otel_logs'])
      await ok('POST', `/api/logs?source=${source}`, sent)
    await ok('PATCH', '/api/endpoints/shop.tiers', { description: `By ${version}` })
    await ok('PATCH', '/api/sources/shop_logs', { description: `By ${version}` })
    await ok('PATCH', '/api/dashboards/shop', { title: `By ${version}` })
    const { body } = await ask(service, token, 'GET', path, undefined, { 'Cache-Control': 'no-cache' })
    expect(body.result[0]).toMatchObject({ tier: 'free', n: 2 })
    const backup = await service.call('/api/backup')
    const restored = join(directory, `${name}-backup`)
    mkdirSync(restored)
    execFileSync('tar', ['-x', '-C', restored], { input: Buffer.from(await backup.arrayBuffer()) })
  })
  const to = join(directory, `${name}-restored`)
  expect(await runCommand(['restore', join(directory, `${name}-backup`), '--data-dir', to])).toMatchObject({
    code: 0,
  })
  await serve(to, async (service) => {
    const { body } = await ask(service, service.adminToken.token, 'GET', '/api/endpoints/shop.tiers')
    expect(body).toMatchObject({ version: 3, description: `By ${version}` })
  })
}

const released = readdirSync(archives).filter((name) => name.endsWith('.tar.gz'))

describe.each([...released, 'this version'])('the data of %s', (name) => {
  const directory = join(scratch, name)
  test('is opened, compared, changed and backed up', { timeout: 600_000 }, async () => {
    mkdirSync(directory)
    if (released.includes(name)) execFileSync('tar', ['-xzf', join(archives, name), '-C', directory])
    else await makeArchive(directory)
    const { WELLHEAD_ARCHIVE: target } = process.env
    if (target && !released.includes(name)) {
      execFileSync('tar', ['-czf', target, '-C', directory, 'data', 'backup', 'expected.json'])
    }
    cpSync(join(directory, 'backup'), join(directory, 'backup-copy'), { recursive: true })
    await check(directory, 'data')
  })

  test('is restored from its backup, compared, changed and backed up', { timeout: 600_000 }, async () => {
    const from = join(directory, 'backup-copy')
    const to = join(directory, 'restored')
    expect(await runCommand(['restore', from, '--data-dir', to])).toMatchObject({ code: 0 })
    await check(directory, 'restored')
  })
})
