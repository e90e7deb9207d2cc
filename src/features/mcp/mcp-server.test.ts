import { expect, test } from 'vitest'
import { serveMcp } from './mcp-server.ts'
import type { ToolDefinition } from './tool.ts'

const names = Array.from({ length: 450 }, (_, n) => `tool_${String(n).padStart(3, '0')}`)

async function listTools(known: readonly string[], cursor?: string) {
  const params = cursor === undefined ? {} : { cursor }
  const { body } = await serveMcp({
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params },
    protocolVersion: undefined,
    tools: {
      has: (name) => known.includes(name),
      names: () => known,
      definition: async (name) => ({ name, inputSchema: { type: 'object' } }) as ToolDefinition,
      call: async () => ({ content: [] }),
    },
  })
  return JSON.parse(body ?? '')
}

test('lists every tool once, page by page, also if one disappears in between', async () => {
  const listed: string[] = []
  let known = names
  let cursor: string | undefined
  do {
    const { result } = await listTools(known, cursor)
    listed.push(...result.tools.map(({ name }: ToolDefinition) => name))
    cursor = result.nextCursor
    known = names.filter((name) => name !== listed.at(-1))
  } while (cursor !== undefined)
  expect(listed).toEqual(names)
})

test('refuses a cursor that it did not return', async () => {
  for (const cursor of ['', 'nonsense', 'tool_100', '9']) {
    expect(await listTools(names, cursor)).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32602, message: 'params.cursor must be the nextCursor of an earlier page.' },
    })
  }
})
