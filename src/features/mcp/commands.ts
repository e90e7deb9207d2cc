import { addAbortSignal } from 'node:stream'
import type { Command } from 'commander'
import { z } from 'zod'
import { addServiceAction, addServiceOptions } from '../../cli/kit/command.ts'
import type { CommandIo } from '../../cli/kit/command-io.ts'
import { splitLines } from '../../cli/kit/logs/log-input.ts'
import { type ServiceClient, ServiceFailure } from '../../cli/kit/service-client.ts'

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
    request: serveMcp,
  })
}

const graceMs = 10_000
const maxAtOnce = 256
const codes = { parse: -32700, internal: -32603 } as const

const idShape = z.union([z.string(), z.number()])
type Id = z.output<typeof idShape> | null

const messageShape = z.looseObject({
  id: idShape.optional(),
  method: z.string().optional(),
  params: z.looseObject({ requestId: idShape.optional() }).optional(),
})

/** Passes messages to `/mcp` of a service, which knows the tools. */
async function serveMcp(client: ServiceClient): Promise<void> {
  const { stdin, stdout, signal: stopped } = client.io
  const underWay = new Set<{ id: Id; abort: AbortController }>()
  let version: string | undefined
  const cancel = (isMeant: (id: Id) => boolean = () => true) => {
    for (const { id, abort } of underWay) if (isMeant(id)) abort.abort()
  }

  /** Resolves to undefined if the message needs no response. */
  const respondTo = async (line: string): Promise<unknown> => {
    let json: unknown
    try {
      json = JSON.parse(line)
    } catch {
      return failure(null, codes.parse, 'The line is not JSON. Send one message per line.')
    }
    // The service refuses what is no message, and responds to a batch as a whole.
    const { data = { id: null, method: undefined, params: undefined } } = messageShape.safeParse(json)
    const { id, method, params } = data
    if (method === 'notifications/cancelled') cancel((other) => other === params?.requestId)
    // Without sessions, other notifications concern nothing.
    return id === undefined ? undefined : exchange(json, id, method === 'initialize')
  }

  const exchange = async (message: unknown, id: Id, begins: boolean): Promise<unknown> => {
    const request = { id, abort: new AbortController() }
    const { signal } = request.abort
    underWay.add(request)
    try {
      const headers = {
        Accept: 'application/json, text/event-stream',
        // The version of `initialize` is in the message.
        ...(version !== undefined && !begins && { 'MCP-Protocol-Version': version }),
      }
      const response = await client.request('POST', '/mcp', { json: message, headers, signal })
      // A batch of notifications.
      if (response.status === 202) return undefined
      const read = client.parse<{ result?: { protocolVersion?: string } }>(await client.read(response))
      if (begins) version = read.result?.protocolVersion
      return read
    } catch (error) {
      // Nobody waits for the response of a cancelled request.
      if (signal.aborted || stopped.aborted) return undefined
      // The service refuses a message with a code of JSON-RPC.
      const code = error instanceof ServiceFailure ? Number(error.details.code) : Number.NaN
      return failure(id, Number.isInteger(code) ? code : codes.internal, (error as Error).message)
    } finally {
      underWay.delete(request)
    }
  }

  // Without a token, nothing can be served.
  client.find()
  const tasks = new Set<Promise<unknown>>()
  stopped.addEventListener('abort', () => cancel(), { once: true })
  try {
    for await (const entry of splitLines(addAbortSignal(stopped, stdin), Number.POSITIVE_INFINITY)) {
      const unreadable = 'text' in entry ? undefined : failure(null, codes.parse, entry.reason)
      const task = ('text' in entry ? respondTo(entry.text) : Promise.resolve(unreadable))
        .then((response) => response && stdout.write(`${JSON.stringify(response)}\n`))
        .finally(() => tasks.delete(task))
      tasks.add(task)
      if (tasks.size >= maxAtOnce) await Promise.race(tasks)
    }
  } catch (error) {
    if (!stopped.aborted) throw error
  }
  const timer = setTimeout(cancel, graceMs)
  await Promise.all(tasks)
  clearTimeout(timer)
}

function failure(id: Id, code: number, message: string) {
  return { jsonrpc: '2.0', id, error: { code, message } }
}
