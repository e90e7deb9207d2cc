import type { JSONRPCMessage, JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js'
import { onFirstUse } from '../../core/base/on-first-use.ts'
import { version } from '../../core/base/package-file.ts'
import { closestName, didYouMean } from '../../core/base/text/closest-name.ts'
import { dataNote } from './row-result.ts'
import type { ToolDefinition, ToolResult } from './tool.ts'

export interface CallerTools {
  has(name: string): boolean
  /** In order. */
  names(): readonly string[]
  definition(name: string): Promise<ToolDefinition>
  /** Errors are results, too. */
  call(name: string, input: Record<string, unknown>): Promise<ToolResult>
}

interface McpRequest {
  /** One JSON-RPC message, or several. */
  body: unknown
  protocolVersion: string | undefined
  tools: CallerTools
}

interface McpResponse {
  status: number
  /** Undefined if the request has only notifications. */
  body: string | undefined
}

/** Longer lists have several pages. */
const toolsPerPage = 200
const cursorAfter = (name: string) => `after:${name}`

const instructions =
  `Each tool returns rows of log data, most of them from a saved query. ${dataNote} ` +
  'Timestamps are ISO 8601 in UTC. If rows are cut off, narrow the request: a shorter time range, or a filter.'

const maxBatch = 100

/** Loaded with the first request: it takes a while and some memory, and many services never need it. */
const sdk = onFirstUse(async () => {
  const [server, memory, types, validation] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/index.js'),
    import('@modelcontextprotocol/sdk/inMemory.js'),
    import('@modelcontextprotocol/sdk/types.js'),
    import('@modelcontextprotocol/sdk/validation/ajv'),
  ])
  // Shared, because making one takes longer than a request.
  return { ...server, ...memory, ...types, jsonSchemaValidator: new validation.AjvJsonSchemaValidator() }
})

type Sdk = Awaited<ReturnType<typeof sdk>>

/** Serves one request of the Model Context Protocol. Nothing is remembered from one request to the next. */
export async function serveMcp({ body, protocolVersion, tools }: McpRequest): Promise<McpResponse> {
  const loaded = await sdk()
  const messages: unknown[] = Array.isArray(body) ? body : [body]
  const isJsonRpc = messages.every((message) => loaded.JSONRPCMessageSchema.safeParse(message).success)
  if (!isJsonRpc || messages.length === 0 || messages.length > maxBatch) {
    const message = `The body must be a message of JSON-RPC 2.0, or an array of at most ${maxBatch}.`
    return refusal(loaded.ErrorCode.InvalidRequest, message)
  }
  // Without sessions, a notification concerns nothing.
  const requests = messages.filter((message) => loaded.isJSONRPCRequest(message))
  const versions = loaded.SUPPORTED_PROTOCOL_VERSIONS
  // A client that begins with a newer version gets one that it can use instead.
  const begins = requests.some(({ method }) => method === 'initialize')
  if (protocolVersion !== undefined && !versions.includes(protocolVersion) && !begins) {
    const message = `MCP-Protocol-Version must be one of ${versions.join(', ')}.`
    return refusal(loaded.ErrorCode.InvalidRequest, message)
  }
  if (requests.length === 0) return { status: 202, body: undefined }
  const invalid = requests.flatMap((request) => findInvalid(loaded, request) ?? [])
  const valid = requests.filter((request) => !invalid.some(({ request: other }) => other === request))
  const responses = [
    ...invalid.map(({ response }) => response),
    ...(valid.length === 0 ? [] : await exchange(loaded, valid, tools)),
  ]
  return { status: 200, body: JSON.stringify(Array.isArray(body) ? responses : responses[0]) }
}

function refusal(code: number, message: string): McpResponse {
  return { status: 400, body: JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }) }
}

/** Finds a parameter of the wrong type. The SDK would call it an internal error, in words for programmers. */
function findInvalid(loaded: Sdk, request: JSONRPCRequest) {
  const { id, method } = request
  const shapes = {
    initialize: loaded.InitializeRequestSchema,
    'tools/list': loaded.ListToolsRequestSchema,
    'tools/call': loaded.CallToolRequestSchema,
  }
  if (!Object.hasOwn(shapes, method)) return undefined
  const issue = shapes[method as keyof typeof shapes].safeParse(request).error?.issues[0]
  if (!issue) return undefined
  const message = `${issue.path.join('.')} of ${method} is missing or has the wrong type.`
  return {
    request,
    response: { jsonrpc: '2.0', id, error: { code: loaded.ErrorCode.InvalidParams, message } },
  }
}

async function exchange(
  loaded: Sdk,
  requests: readonly JSONRPCRequest[],
  tools: CallerTools,
): Promise<readonly JSONRPCMessage[]> {
  const { Server, ErrorCode } = loaded
  // The SDK's own error would begin with its code, to which clients add it again.
  const invalidParams = (message: string) =>
    Object.assign(new Error(message), { code: ErrorCode.InvalidParams })
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
    const { cursor = cursorAfter('') } = params ?? {}
    if (!cursor.startsWith(cursorAfter(''))) {
      throw invalidParams('params.cursor must be the nextCursor of an earlier page.')
    }
    // The tool that the cursor names may be gone by now.
    const rest = names.filter((name) => cursorAfter(name) > cursor)
    const page = rest.slice(0, toolsPerPage)
    return {
      tools: await Promise.all(page.map((name) => tools.definition(name))),
      ...(page.length < rest.length && { nextCursor: cursorAfter(page.at(-1) as string) }),
    }
  })
  server.setRequestHandler(loaded.CallToolRequestSchema, async ({ params }) => {
    const { name, arguments: input = {} } = params
    if (tools.has(name)) return tools.call(name, input)
    throw invalidParams(`Unknown tool "${name}".${didYouMean(closestName(name, tools.names()))}`)
  })
  // The SDK's transport for HTTP makes streams, which takes five times as long.
  const [client, transport] = loaded.InMemoryTransport.createLinkedPair()
  await server.connect(transport)
  return new Promise((resolve) => {
    const responses: JSONRPCMessage[] = []
    client.onmessage = (message) => {
      // The server sends nothing else, since no client could respond.
      if (!('result' in message) && !('error' in message)) return
      if (responses.push(message) === requests.length) resolve(responses)
    }
    for (const request of requests) void client.send(request)
  })
}
