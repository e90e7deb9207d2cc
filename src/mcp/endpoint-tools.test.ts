import { expect, test } from 'vitest'
import type { Caller } from '../access/caller.ts'
import { engineUnavailable } from '../base/errors.ts'
import type { Endpoints, SavedEndpoint } from '../endpoints/manage/endpoints.ts'
import { EndpointTools } from './endpoint-tools.ts'

test('a sandbox has a tool while its views cannot be found', async () => {
  const tools = new EndpointTools({
    endpoints: { onChange: () => {} } as unknown as Endpoints,
    viewsOf: () => Promise.reject(engineUnavailable('It restarts.')),
    maxCallers: 1,
  })
  const definition = { name: 'box', description: 'Counts.', parameters: {}, sandbox: true }
  const endpoint = { definition, compiled: { names: [] }, columns: [] } as unknown as SavedEndpoint
  const { description } = await tools.definition('box', endpoint, { parameters: {} } as unknown as Caller)
  expect(description).toMatch(/^Counts\.\n\nWith sql[\s\S]+\nTheir names are in the error/)
})
