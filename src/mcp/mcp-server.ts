import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { onFirstUse } from '../base/on-first-use.ts'
import { closestName, didYouMean } from '../base/text/closest-name.ts'
import { version } from '../base/version.ts'
import { dataNote } from './row-result.ts'
import type { ToolDefinition, ToolResult } from './tool.ts'

/** The tools of one caller. */
export interface CallerTools {
  /** In order. */
  names(): readonly string[]
  definition(name: string): Promise<ToolDefinition>
  /** Errors are results, too. */
  call(name: string, input: Record<string, unknown>): Promise<ToolResult>
}

export interface McpRequest {
  /** One JSON-RPC message, or several. */
  body: unknown
  /** The header MCP-Protocol-Version. */
  protocolVersion: string | undefined
  tools: CallerTools
}

export interface McpResponse {
  status: number
  /** Undefined if the request has only notifications. */
  body: string | undefined
}

/** Longer lists have several pages. */
const toolsPerPage = 200

const instructions =
  `Each tool returns rows of log data, most of them from a saved query. ${dataNote} ` +
  'Timestamps are ISO 8601 in UTC. If rows are cut off, narrow the request: a shorter time range, or a filter.'

/** Loaded with the first request: it takes a while and some memory, and many services never need it. */
const sdk = onFirstUse(async () => {
  const [server, transport, types, validation] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/index.js'),
    import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'),
    import('@modelcontextprotocol/sdk/types.js'),
    import('@modelcontextprotocol/sdk/validation/ajv'),
  ])
  // Shared, because each one compiles its own schemas.
  const jsonSchemaValidator = new validation.AjvJsonSchemaValidator()
  return { ...server, ...transport, ...types, jsonSchemaValidator }
})

/** Serves one request of the Model Context Protocol. Nothing is remembered from one request to the next. */
export async function serveMcp({ body, protocolVersion, tools }: McpRequest): Promise<McpResponse> {
  const loaded = await sdk()
  const { Server, WebStandardStreamableHTTPServerTransport, McpError, ErrorCode } = loaded
  const server = new Server(
    { name: 'wellhead', title: 'Wellhead', version },
    {
      // A change cannot be announced: no connection stays open.
      capabilities: { tools: { listChanged: false } },
      instructions,
      jsonSchemaValidator: loaded.jsonSchemaValidator,
    },
  )
  server.setRequestHandler(loaded.ListToolsRequestSchema, async ({ params }) => {
    const names = tools.names()
    const after = params?.cursor
    const start = after === undefined ? 0 : names.findIndex((name) => name > after)
    const page = start < 0 ? [] : names.slice(start, start + toolsPerPage)
    const nextCursor = start >= 0 && start + toolsPerPage < names.length ? page.at(-1) : undefined
    return {
      tools: await Promise.all(page.map((name) => tools.definition(name))),
      ...(nextCursor !== undefined && { nextCursor }),
    }
  })
  server.setRequestHandler(loaded.CallToolRequestSchema, async ({ params }) => {
    const { name, arguments: input = {} } = params
    const names = tools.names()
    if (names.includes(name)) return tools.call(name, input)
    const message = `Unknown tool "${name}".${didYouMean(closestName(name, names))}`
    throw new McpError(ErrorCode.InvalidParams, message)
  })
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport as Parameters<typeof server.connect>[0])
  // The response is JSON, whatever else the client accepts.
  const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
  const request = new Request('http://localhost/mcp', {
    method: 'POST',
    headers:
      protocolVersion === undefined ? headers : { ...headers, 'mcp-protocol-version': protocolVersion },
  })
  const response = await transport.handleRequest(request, { parsedBody: body as JSONRPCMessage })
  return { status: response.status, body: response.body === null ? undefined : await response.text() }
}
