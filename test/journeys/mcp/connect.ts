import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { expect } from 'vitest'
import type { RunningService } from '../../support/service.ts'

export interface Connection {
  client: Client
  /** Calls a tool that succeeds. The client checks the result by the tool's schema if it listed the tools before. */
  call(name: string, input?: Record<string, unknown>): Promise<Shown>
  /** Calls a tool that fails. */
  error(name: string, input?: Record<string, unknown>): Promise<Record<string, unknown>>
  text(name: string, input?: Record<string, unknown>): Promise<string>
}

export interface Shown {
  note: string
  rows: Record<string, unknown>[]
  total_rows: number
  complete: boolean
}

/** The official client, connected to a service over HTTP. */
export function connect(
  service: RunningService,
  token = service.adminToken.token,
  headers: Record<string, string> = {},
): Promise<Connection> {
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', service.url), {
    requestInit: { headers: { Authorization: `Bearer ${token}`, ...headers } },
  })
  // Its types were not made for exactOptionalPropertyTypes.
  return connectOver(transport as Transport)
}

export async function connectOver(transport: Transport): Promise<Connection> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(transport)
  const result = async (name: string, input = {}) =>
    (await client.callTool({ name, arguments: input }, undefined, { timeout: 300_000 })) as CallToolResult
  const textOf = ({ content: [first] }: CallToolResult) => (first?.type === 'text' ? first.text : '')
  return {
    client,
    call: async (name, input) => {
      const called = await result(name, input)
      expect(called.isError, textOf(called)).toBeUndefined()
      return called.structuredContent as unknown as Shown
    },
    error: async (name, input) => {
      const called = await result(name, input)
      expect(called.isError, textOf(called)).toBe(true)
      expect(called.structuredContent).toBeUndefined()
      return JSON.parse(textOf(called)).error
    },
    text: async (name, input) => textOf(await result(name, input)),
  }
}
