import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { scratchDirectory } from '../../support/scratch.ts'
import { spawnService } from '../../support/service-process.ts'
import { openConsole, sharedBrowser } from '../console/stage/browser.ts'
import { freePort } from '../docs/free-port.ts'
import { vectorSinks } from './vector.ts'

const tokens = { LOGFLARE_PUBLIC_ACCESS_TOKEN: 'public', LOGFLARE_PRIVATE_ACCESS_TOKEN: 'private' }
const browser = sharedBrowser()

/** Runs the service as it is published, and lists the files of dist that its process loaded. */
async function loadedBy(
  environment: Record<string, string>,
  use: (url: string, output: () => string) => Promise<void>,
): Promise<string[]> {
  const port = await freePort()
  const directory = scratchDirectory()
  const coverage = join(directory.path, 'coverage')
  const args = ['--port', String(port), '--data-dir', join(directory.path, 'data')]
  const service = spawnService(args, { ...environment, NODE_V8_COVERAGE: coverage })
  try {
    await use(`http://127.0.0.1:${port}`, () => service.stdout() + service.stderr())
    service.child.kill()
    await service.exit
    const reports = readdirSync(coverage).map((file) => readFileSync(join(coverage, file), 'utf8'))
    const urls = reports.flatMap((text) => (JSON.parse(text) as { result: { url: string }[] }).result)
    return urls.flatMap(({ url }) => /dist\/([\w-]+)\.js$/.exec(url)?.[1] ?? [])
  } finally {
    service.child.kill('SIGKILL')
    await service.exit
    directory.remove()
  }
}

/** Waits until a check of the service succeeds. */
async function until(url: string): Promise<void> {
  const isOk = async () => (await fetch(url).catch(() => undefined))?.ok === true
  await vi.waitUntil(isOk, { timeout: 120_000, interval: 5 })
}

test('the gateway is healthy only when every sink of Vector is accepted', async () => {
  const loaded = await loadedBy(tokens, async (url, output) => {
    await until(`${url}/health`)
    const statuses = await Promise.all(
      vectorSinks(Date.now() - 1_800_000).map(async ({ source, events }) => {
        const response = await fetch(`${url}/api/logs?source_name=${source}&api_key=public`, {
          method: 'POST',
          body: JSON.stringify(events),
        })
        return response.status
      }),
    )
    expect(statuses).toEqual(Array(7).fill(200))
    const count =
      '/logflare/api/endpoints/query/logs.all?project=default&sql=select+count(*)+as+count+from+auth_logs'
    const response = await fetch(url + count, { headers: { 'x-api-key': 'private' } })
    expect(await response.json()).toEqual({ result: [{ count: 3 }] })
    await vi.waitUntil(() => output().includes('/logflare/api/endpoints/query'))
    expect(output()).toContain('/api/logs')
    expect(output()).not.toContain('api_key')
  })
  expect(loaded).toContain('logflare')
})

test('the gateway is not there if its token is not set', async () => {
  const token = 'a-token-of-an-administrator-for-tests'
  const loaded = await loadedBy({ WELLHEAD_ADMIN_TOKEN: token }, async (url) => {
    await until(`${url}/ready`)
    const call = (path: string) => fetch(url + path, { headers: { 'x-api-key': token } })
    for (const path of ['/logflare/api/sources', '/logflare/health', '/logflare/api/translate']) {
      const response = await call(path)
      expect([response.status, await response.json()]).toMatchObject([404, { error: { code: 'not_found' } }])
    }
    expect(await (await call('/health')).json()).toEqual({ status: 'alive' })
    const { page, close } = await openConsole(browser(), { url }, '/console/playground', { token })
    await page.getByRole('button', { name: 'Format' }).waitFor()
    expect(await page.getByRole('button', { name: 'BigQuery' }).count()).toBe(0)
    await close()
  })
  expect(loaded).toContain('service')
  expect(loaded).not.toContain('logflare')
})
