import { z } from 'zod'

export const readyState = {
  ready: z.boolean().describe('Whether requests and logs are served.'),
  reason: z.string().exactOptional().describe('Why not, or why tenants are refused.'),
}
const leak = z.string().exactOptional().describe('What one tenant can see of another there.')
const engineState = { ...readyState, version: z.string().exactOptional(), restarts: z.int() }
const node = z.object({
  node: z.string().describe('Host and port.'),
  ...engineState,
  leak,
})
export const engineShape = z.object({
  ...engineState,
  leak,
  nodes: z.array(node).readonly().exactOptional().describe('The nodes of a ClickHouse server or cluster.'),
})
export type EngineStatus = z.output<typeof engineShape>
