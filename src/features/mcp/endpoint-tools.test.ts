import { expect, test } from 'vitest'
import type { Caller } from '../../core/access/caller.ts'
import type { Endpoint } from '../../core/endpoints/definition/endpoint.ts'
import { endpointTool } from './endpoint-tools.ts'

test('a sandbox has a tool while its views cannot be found', () => {
  const definition = { name: 'box', description: 'Counts.', parameters: {}, sandbox: true }
  const endpoint = { definition, compiled: { names: [] }, columns: [] } as unknown as Endpoint
  const { description } = endpointTool('box', endpoint, { parameters: {} } as unknown as Caller, [])
  expect(description).toMatch(/^Counts\.\n\nWith sql[\s\S]+\nTheir names are in the error/)
})
