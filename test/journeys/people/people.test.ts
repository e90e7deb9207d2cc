import { describe, expect, test, vi } from 'vitest'
import { checkUnused } from '../../../src/core/engine/embedded-engine.ts'
import { ask } from '../../support/callers.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { openService } from '../../support/service.ts'
import { childrenOf, spawnService } from '../../support/service-process.ts'
import { auditJourneys } from './audit.ts'
import { issuerResponseJourneys } from './issuer-response.ts'
import { sessionJourneys } from './sessions.ts'
import { signInJourneys } from './sign-in.ts'
import { silentIssuerJourneys } from './silent-issuer.ts'
import { peopleStage } from './stage.ts'
import { twoServicesJourneys } from './two-services.ts'

const stage = peopleStage()

signInJourneys(stage)
issuerResponseJourneys(stage)
sessionJourneys(stage)
auditJourneys(stage)
describe('people on two services', twoServicesJourneys)

test('every change has one entry in the audit, also if the service was killed right after it', async () => {
  const { path, remove } = scratchDirectory()
  const token = 'a-token-for-two-services'
  const environment = { WELLHEAD_ADMIN_TOKEN: token, WELLHEAD_DATA_DIR: path, WELLHEAD_STATISTICS: 'off' }
  const first = spawnService([], { ...environment, WELLHEAD_PORT: '0' })
  const url = await first.ready()
  const change = (name: string) =>
    ask({ url }, token, 'POST', '/api/endpoints', { name, query: 'SELECT 1 AS n' })
  const names = Array.from({ length: 6 }, (_, n) => `killed.${n}`)
  for (const name of names) expect((await change(name)).status).toBe(201)
  const engines = childrenOf(first.child.pid as number)
  for (const pid of [first.child.pid as number, ...engines]) process.kill(pid, 'SIGKILL')
  await first.exit
  // The engine gives up its lock when its last thread has ended.
  await vi.waitFor(() => checkUnused(path), 20_000)
  const second = await openService({ engine: 'embedded', dataDir: path, environment })
  try {
    const body = { query: 'action:endpoint.create', limit: 100 }
    const targets = async () =>
      (await ask(second, token, 'POST', '/api/sources/audit_events/search', body)).body
        .map(({ metadata }: { metadata: { target: string } }) => metadata.target)
        .sort()
    await expect.poll(targets).toEqual(names)
    // Another change follows them, and none is written twice.
    expect((await ask(second, token, 'PATCH', '/api/endpoints/killed.0', { description: 'x' })).status).toBe(
      200,
    )
    body.query = 'target:killed.0'
    await expect.poll(targets).toEqual(['killed.0', 'killed.0'])
  } finally {
    await second.close()
    remove()
  }
})

test('links to dashboards start with the public address, whatever host the request names', async () => {
  const internal = { url: stage.service.url.replace('127.0.0.1', 'localhost') }
  const admin = (path: string, body: object) =>
    ask(internal, stage.service.adminToken.token, 'POST', path, body)
  expect((await admin('/api/dashboards', { name: 'shared' })).status).toBe(201)
  const { body } = await admin('/api/dashboards/shared/links', { all_projects: true })
  expect(body.url).toContain(`${stage.service.url}/shared/`)
})

silentIssuerJourneys(stage)
