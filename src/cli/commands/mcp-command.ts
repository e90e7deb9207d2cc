import { hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import { z } from 'zod'
import type { CommandIo } from '../command-io.ts'
import { type ServiceClient, ServiceFailure } from '../service-client.ts'
import { addServiceAction, addServiceOptions } from '../service-command.ts'

const help = `
Reads messages of JSON-RPC from standard input, one per line, and writes responses to standard output. When the input ends,
requests under way have 10 seconds to complete. Stop with Ctrl-C.
`

export function defineMcp(command: Command, io: CommandIo): void {
  addServiceOptions(command).addHelpText('after', help)
  addServiceAction(command, io, {
    examples: [
      'claude mcp add wellhead -- wellhead mcp --url https://logs.example.com --token wh_…',
      'WELLHEAD_URL=https://logs.example.com WELLHEAD_TOKEN=wh_… wellhead mcp',
    ],
    request: (client) => new McpBridge(client, io).run(),
  })
}

const graceMs = 10_000
/** How often the tools are compared with those that the client knows. */
const compareMs = 30_000
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
const initialized = z.looseObject({
  result: z.looseObject({
    protocolVersion: z.string(),
    capabilities: z.looseObject({ tools: z.looseObject({}) }),
  }),
})
const listed = z.looseObject({
  result: z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() }),
})

/** Passes messages to `/mcp` of a service, which knows the tools. */
class McpBridge {
  readonly #client: ServiceClient
  readonly #io: CommandIo
  readonly #underWay = new Set<{ id: Id; abort: AbortController }>()
  readonly #ended = new AbortController()
  #version: string | undefined
  #announces = false

  constructor(client: ServiceClient, io: CommandIo) {
    this.#client = client
    this.#io = io
  }

  async run(): Promise<void> {
    // Without a token, nothing can be served.
    this.#client.find()
    const { stdin, signal } = this.#io
    const tasks = new Set<Promise<void>>()
    for await (const line of linesOf(stdin, signal)) {
      if (line.trim() === '') continue
      const task = this.#receive(line).finally(() => tasks.delete(task))
      tasks.add(task)
      if (tasks.size >= maxAtOnce) await Promise.race(tasks)
    }
    this.#ended.abort()
    const timer = setTimeout(() => this.#cancel(() => true), graceMs)
    await Promise.all(tasks)
    clearTimeout(timer)
  }

  async #receive(line: string): Promise<void> {
    const response = await this.#respondTo(line)
    if (response !== undefined) await this.#send(response)
  }

  async #send(message: unknown): Promise<void> {
    await this.#io.stdout.write(`${JSON.stringify(message)}\n`)
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

  #post(message: unknown, version: string | undefined, signal: AbortSignal) {
    return this.#client.json('POST', '/mcp', (json) => responseShape.parse(json), {
      json: message,
      headers: {
        Accept: 'application/json, text/event-stream',
        ...(version !== undefined && { 'MCP-Protocol-Version': version }),
      },
      signal,
    })
  }

  /** The service cannot announce changes, because it keeps no connection; this process can. */
  #begin(response: unknown): unknown {
    const { data } = initialized.safeParse(response)
    if (!data) return response
    const { result } = data
    this.#version = result.protocolVersion
    const tools = { ...result.capabilities.tools, listChanged: true }
    return { ...data, result: { ...result, capabilities: { ...result.capabilities, tools } } }
  }

  /** Tells a client that reads the list of tools when it changes. Resolves when the current list is known. */
  async #announceChanges(): Promise<void> {
    if (this.#announces) return
    this.#announces = true
    const { signal } = this.#ended
    let known = await this.#toolsHash()
    const announce = async () => {
      for (;;) {
        await delay(compareMs, undefined, { signal })
        // While the service is away, nothing is known.
        const current = (await this.#toolsHash()) ?? known
        if (current !== known)
          await this.#send({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
        known = current
      }
    }
    // It ends with the input, by an error of the delay.
    announce().catch(() => {})
  }

  /** Undefined if the service does not respond. */
  async #toolsHash(): Promise<string | undefined> {
    const { signal } = this.#ended
    const tools: unknown[] = []
    let cursor: string | undefined
    do {
      const message = { jsonrpc: '2.0', id: 0, method: 'tools/list', params: { cursor } }
      const response = await this.#post(message, this.#version, signal).catch(() => undefined)
      const { data } = listed.safeParse(response)
      if (!data) return undefined
      tools.push(...data.result.tools)
      cursor = data.result.nextCursor
    } while (cursor !== undefined)
    return hash('sha256', JSON.stringify(tools))
  }

  #cancel(isMeant: (id: Id) => boolean): void {
    for (const { id, abort } of this.#underWay) if (isMeant(id)) abort.abort()
  }

  async #exchange(message: unknown, id: Id, method: string): Promise<unknown> {
    const request = { id, abort: new AbortController() }
    const { signal } = request.abort
    this.#underWay.add(request)
    try {
      if (method === 'tools/list') await this.#announceChanges()
      // The version of `initialize` is in the message.
      const response = await this.#post(message, method === 'initialize' ? undefined : this.#version, signal)
      return method === 'initialize' ? this.#begin(response) : response
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

/** Node's own reader of lines also splits at U+2028, which JSON may contain. */
async function* linesOf(input: Readable, signal: AbortSignal): AsyncGenerator<string> {
  let line = ''
  const stop = () => input.destroy()
  signal.addEventListener('abort', stop, { once: true })
  try {
    for await (const chunk of input.setEncoding('utf8')) {
      const [end, ...starts] = (chunk as string).split('\n')
      line += end
      for (const start of starts) {
        yield line
        line = start
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
    return
  } finally {
    signal.removeEventListener('abort', stop)
  }
  yield line
}

function failure(id: Id | null, code: number, message: string) {
  return { jsonrpc: '2.0', id, error: { code, message } }
}
