import { createInterface } from 'node:readline'
import type { Command } from 'commander'
import { z } from 'zod'
import type { CommandIo } from '../command-io.ts'
import { type ServiceClient, ServiceFailure } from '../service-client.ts'
import { addServiceAction, addServiceCommand } from '../service-command.ts'

const help = `
Reads messages of JSON-RPC from standard input, one per line, and writes responses to standard output. When the input ends,
requests under way have 10 seconds to complete. Stop with Ctrl-C.
`

export function addMcpCommand(program: Command, io: CommandIo): void {
  const command = addServiceCommand(program, 'mcp', 'serve the tools of a service to an agent, over stdio')
  command.addHelpText('after', help)
  addServiceAction(command, io, {
    examples: [
      'claude mcp add wellhead -- wellhead mcp --url https://logs.example.com --token wh_…',
      'WELLHEAD_URL=https://logs.example.com WELLHEAD_TOKEN=wh_… wellhead mcp',
    ],
    request: (client) => new McpBridge(client, io).run(),
  })
}

const graceMs = 10_000
const maxAtOnce = 256
/** The same as of the service. */
const maxBatch = 100
const codes = { parse: -32700, invalid: -32600, internal: -32603 } as const

const idShape = z.union([z.string(), z.number()])
type Id = z.output<typeof idShape>

const messageShape = z
  .looseObject({
    id: idShape.optional(),
    method: z.string().optional(),
    params: z.unknown().optional(),
  })
  .refine((message) => message.method !== undefined || 'result' in message || 'error' in message)
const cancellation = z.looseObject({ requestId: idShape })
const responseShape = z.looseObject({ jsonrpc: z.literal('2.0') })
const initialized = z.looseObject({ result: z.looseObject({ protocolVersion: z.string() }) })

/** Passes messages to `/mcp` of a service, which knows the tools. */
class McpBridge {
  readonly #client: ServiceClient
  readonly #io: CommandIo
  readonly #underWay = new Set<{ id: Id; abort: AbortController }>()
  #version: string | undefined

  constructor(client: ServiceClient, io: CommandIo) {
    this.#client = client
    this.#io = io
  }

  async run(): Promise<void> {
    // Without a token, nothing can be served.
    this.#client.find()
    const { stdin, signal } = this.#io
    const lines = createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY })
    signal.addEventListener('abort', () => lines.close(), { once: true })
    const tasks = new Set<Promise<void>>()
    for await (const line of lines) {
      if (line.trim() === '') continue
      const task = this.#receive(line).finally(() => tasks.delete(task))
      tasks.add(task)
      if (tasks.size >= maxAtOnce) await Promise.race(tasks)
    }
    const timer = setTimeout(() => this.#cancel(() => true), graceMs)
    await Promise.all(tasks)
    clearTimeout(timer)
  }

  async #receive(line: string): Promise<void> {
    const response = await this.#respondTo(line)
    if (response !== undefined) await this.#io.stdout.write(`${JSON.stringify(response)}\n`)
  }

  async #respondTo(line: string): Promise<unknown> {
    let json: unknown
    try {
      json = JSON.parse(line)
    } catch {
      return failure(null, codes.parse, 'The line is not JSON. Send one message per line.')
    }
    if (!Array.isArray(json)) return this.#respond(json)
    if (json.length === 0 || json.length > maxBatch)
      return failure(null, codes.invalid, `A batch must have 1 to ${maxBatch} messages.`)
    const responses = await Promise.all(json.map((message) => this.#respond(message)))
    const present = responses.filter((response) => response !== undefined)
    return present.length === 0 ? undefined : present
  }

  /** Resolves to undefined if the message needs no response. */
  async #respond(json: unknown): Promise<unknown> {
    const message = messageShape.safeParse(json)
    if (!message.success)
      return failure(null, codes.invalid, 'The line is not a message of JSON-RPC 2.0 with a method.')
    const { id, method, params } = message.data
    if (method === 'notifications/cancelled') {
      const requestId = cancellation.safeParse(params).data?.requestId
      this.#cancel((underWay) => underWay === requestId)
    }
    // Without sessions, other notifications concern nothing.
    return id === undefined || method === undefined ? undefined : this.#exchange(json, id, method)
  }

  #cancel(isMeant: (id: Id) => boolean): void {
    for (const { id, abort } of this.#underWay) if (isMeant(id)) abort.abort()
  }

  async #exchange(message: unknown, id: Id, method: string): Promise<unknown> {
    const request = { id, abort: new AbortController() }
    const { signal } = request.abort
    this.#underWay.add(request)
    try {
      const response = await this.#client.json('POST', '/mcp', responseShape, {
        json: message,
        headers: {
          Accept: 'application/json, text/event-stream',
          // Its own version is in the message.
          ...(this.#version !== undefined &&
            method !== 'initialize' && { 'MCP-Protocol-Version': this.#version }),
        },
        signal,
      })
      if (method === 'initialize')
        this.#version = initialized.safeParse(response).data?.result.protocolVersion
      return response
    } catch (error) {
      // Nobody waits for the response of a cancelled request.
      if (signal.aborted || this.#io.signal.aborted) return undefined
      // The service refuses a message with a code of JSON-RPC.
      const code = error instanceof ServiceFailure ? Number(error.code) : Number.NaN
      return failure(id, Number.isInteger(code) ? code : codes.internal, (error as Error).message)
    } finally {
      this.#underWay.delete(request)
    }
  }
}

function failure(id: Id | null, code: number, message: string) {
  return { jsonrpc: '2.0', id, error: { code, message } }
}
