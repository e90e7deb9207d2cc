import { createInterface } from 'node:readline'
import type { Command } from 'commander'
import { z } from 'zod'
import type { CommandIo } from '../command-io.ts'
import { type ServiceClient, ServiceFailure } from '../service-client.ts'
import { addServiceAction, addServiceCommand } from '../service-command.ts'

const help = `
Reads messages of JSON-RPC from standard input, one per line, and writes responses to standard output. When the input ends,
requests under way have 10 seconds to complete.
`

export function addMcpCommand(program: Command, io: CommandIo): void {
  const command = addServiceCommand(program, 'mcp', 'serve the tools of a service to an agent, over stdio')
  command.addHelpText('after', help)
  addServiceAction(command, io, {
    examples: [
      'claude mcp add wellhead -- wellhead mcp --url https://logs.example.com --token whk_…',
      'WELLHEAD_URL=https://logs.example.com WELLHEAD_TOKEN=whk_… wellhead mcp',
    ],
    request: (client) => new McpBridge(client, io).run(),
  })
}

const graceMs = 10_000
const codes = { parse: -32700, invalid: -32600, failed: -32000 } as const

const messageShape = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: z.looseObject({}).optional(),
})
type Message = z.output<typeof messageShape>
type Id = string | number | null

const initialized = z.looseObject({ result: z.looseObject({ protocolVersion: z.string() }) })

/** Passes messages to `/mcp` of a service, which knows the tools. */
class McpBridge {
  readonly #client: ServiceClient
  readonly #io: CommandIo
  readonly #underWay = new Map<Id, AbortController>()
  readonly #tasks = new Set<Promise<void>>()
  #version: string | undefined

  constructor(client: ServiceClient, io: CommandIo) {
    this.#client = client
    this.#io = io
  }

  async run(): Promise<void> {
    // Without a service or a token, nothing can be served.
    this.#client.find()
    const { stdin, signal } = this.#io
    const lines = createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY })
    signal.addEventListener('abort', () => lines.close(), { once: true })
    for await (const line of lines) {
      if (line.trim() === '') continue
      const task = this.#receive(line).finally(() => this.#tasks.delete(task))
      this.#tasks.add(task)
    }
    const timer = setTimeout(() => this.#cancelAll(), graceMs)
    await Promise.all(this.#tasks)
    clearTimeout(timer)
  }

  #cancelAll(): void {
    for (const request of this.#underWay.values()) request.abort()
  }

  async #receive(line: string): Promise<void> {
    let json: unknown
    try {
      json = JSON.parse(line)
    } catch {
      return this.#sendError(null, codes.parse, 'The line is not JSON.')
    }
    const message = messageShape.safeParse(json)
    if (!message.success)
      return this.#sendError(null, codes.invalid, 'The line is not a message of JSON-RPC 2.0.')
    const { id, method, params } = message.data
    if (method === 'notifications/cancelled') return this.#underWay.get(params?.requestId as Id)?.abort()
    // Without sessions, a notification concerns nothing.
    if (id !== undefined && method !== undefined) await this.#exchange(message.data, id)
  }

  async #exchange(message: Message, id: Id): Promise<void> {
    const own = new AbortController()
    this.#underWay.set(id, own)
    try {
      const response = await this.#client.request('POST', '/mcp', {
        json: message,
        headers: {
          Accept: 'application/json, text/event-stream',
          ...(this.#version !== undefined && { 'MCP-Protocol-Version': this.#version }),
        },
        signal: own.signal,
      })
      const body: unknown = JSON.parse((await this.#client.read(response)).toString())
      if (message.method === 'initialize')
        this.#version = initialized.safeParse(body).data?.result.protocolVersion
      await this.#send(body)
    } catch (error) {
      // Nobody waits for the response of a cancelled request.
      if (own.signal.aborted || this.#io.signal.aborted) return
      await this.#sendError(id, codes.failed, (error as Error).message)
      if (!(error instanceof ServiceFailure)) throw error
    } finally {
      this.#underWay.delete(id)
    }
  }

  #sendError(id: Id, code: number, message: string): Promise<void> {
    return this.#send({ jsonrpc: '2.0', id, error: { code, message } })
  }

  #send(message: unknown): Promise<void> {
    return this.#io.stdout.write(`${JSON.stringify(message)}\n`)
  }
}
