import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask } from '../../support/callers.ts'
import { openServer, remoteCredentials } from '../../support/engines.ts'
import { openService, type RunningService } from '../../support/service.ts'

let server: Awaited<ReturnType<typeof openServer>>
let service: RunningService

beforeAll(async () => {
  server = await openServer({ cluster: 'main' })
  service = await openService({
    environment: {
      WELLHEAD_CLICKHOUSE_URL: server.url,
      WELLHEAD_CLICKHOUSE_USER: remoteCredentials.user,
      WELLHEAD_CLICKHOUSE_PASSWORD: remoteCredentials.password,
      WELLHEAD_CLICKHOUSE_CLUSTER: 'main',
    },
  })
})
afterAll(async () => {
  await service?.close()
  await server?.close()
})

test('starts', async () => {
  const tables = await ask(service, service.adminToken.token, 'GET', '/api/sources')
  console.log(JSON.stringify(tables.body).slice(0, 300))
  const { body } = await service.engine.query(
    {
      sql: 'SELECT name, engine, create_table_query FROM system.tables WHERE database = currentDatabase()',
      format: 'Vertical',
    },
    { deadlineMs: 60000 },
  )
  console.log(body.toString())
  const usage = await service.call('/api/usage')
  console.log(usage.status, (await usage.text()).slice(0, 600))
  expect(1).toBe(1)
})
