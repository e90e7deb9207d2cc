import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../../support/network/free-port.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { loadedFiles, spawnService } from '../../support/service-process.ts'
import { vectorSinks } from './vector.ts'

const tokens = { LOGFLARE_PUBLIC_ACCESS_TOKEN: 'public', LOGFLARE_PRIVATE_ACCESS_TOKEN: 'private' }

test('the gateway is healthy only when every sink of Vector is accepted', async () => {
  const port = await freePort()
  const directory = scratchDirectory()
  const coverage = join(directory.path, 'coverage')
  const args = ['--port', String(port), '--data-dir', join(directory.path, 'data')]
  const service = spawnService(args, { ...tokens, NODE_V8_COVERAGE: coverage })
  onTestFinished(async () => {
    service.child.kill('SIGKILL')
    await service.exit
    directory.remove()
  })
  const url = `http://127.0.0.1:${port}`
  const isHealthy = async () => (await fetch(`${url}/health`).catch(() => undefined))?.ok === true
  await vi.waitUntil(isHealthy, { timeout: 120_000, interval: 5 })
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
  const output = () => service.stdout() + service.stderr()
  await vi.waitUntil(() => output().includes('/logflare/api/endpoints/query'))
  expect(output()).toContain('/api/logs')
  expect(output()).not.toContain('api_key')
  service.child.kill()
  await service.exit
  expect(loadedFiles(coverage)).toContain('logflare')
})
