import type { Command } from 'commander'
import type { z } from 'zod'
import { CommandFailure } from './command-failure.ts'
import type { CommandIo } from './command-io.ts'
import { findService, type ServiceChoice } from './find-service.ts'

export interface ServiceRequest {
  query?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  json?: unknown
  /** Sent as it is. */
  body?: string | Uint8Array<ArrayBuffer>
  headers?: Readonly<Record<string, string>>
}

export interface ServiceClient {
  readonly url: string
  readonly token: string
  /** The answer, if it is a good one; throws a ServiceFailure otherwise. */
  request(method: string, path: string, request?: ServiceRequest): Promise<Response>
  /** The same, read as JSON of this shape, whatever really answers there. */
  json<T>(method: string, path: string, shape: z.ZodType<T>, request?: ServiceRequest): Promise<T>
  /** The same, with the headers that came along. */
  answer<T>(
    method: string,
    path: string,
    shape: z.ZodType<T>,
    request?: ServiceRequest,
  ): Promise<{ body: T; headers: Headers }>
  /** The whole body of an answer. */
  read(response: Response): Promise<Buffer>
  /** A body that was read, as JSON of this shape. */
  parse<T>(body: Buffer, shape: z.ZodType<T>): T
}

/** The service refused, or could not be reached. */
export class ServiceFailure extends CommandFailure {
  /** 0 where no answer came. */
  readonly status: number
  readonly code: string
  readonly retryAfterSeconds: number | undefined

  constructor(
    message: string,
    details: { status: number; code: string; retryAfterSeconds?: number | undefined; cause?: unknown },
  ) {
    super(message, undefined, { cause: details.cause })
    this.status = details.status
    this.code = details.code
    this.retryAfterSeconds = details.retryAfterSeconds
  }
}

/** The flags by which a command is told which service to talk to. */
export function addServiceOptions(command: Command): Command {
  return command
    .option('--url <url>', 'address of the service; WELLHEAD_URL, else a local one is found')
    .option('--token <token>', 'access token; WELLHEAD_TOKEN, else the admin token of a local service')
    .option('--data-dir <directory>', 'data directory of a local service; WELLHEAD_DATA_DIR, else ./data')
}

export function connect(choice: ServiceChoice, io: CommandIo): ServiceClient {
  const { url, token } = findService(choice, io)
  const request: ServiceClient['request'] = async (method, path, given = {}) => {
    const { query, json, body, headers } = given
    const search = query === undefined ? '' : `?${new URLSearchParams(query)}`
    const response = await fetch(`${url}${path}${search}`, {
      method,
      headers: {
        'X-API-KEY': token,
        ...(json !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(json !== undefined ? { body: JSON.stringify(json) } : body !== undefined && { body }),
      // To another address the token must not go.
      redirect: 'manual',
      signal: io.signal,
    }).catch((error: unknown) => {
      throw io.signal.aborted ? error : unreachable(url, error)
    })
    if (!response.ok) throw await refused(url, response)
    return response
  }
  const read: ServiceClient['read'] = async (response) => {
    const body = await response.arrayBuffer().catch((error: unknown) => {
      throw io.signal.aborted ? error : unreachable(url, error)
    })
    return Buffer.from(body)
  }
  const parse: ServiceClient['parse'] = (body, shape) => {
    let json: unknown
    try {
      json = JSON.parse(body.toString())
    } catch (error) {
      throw strange(url, 200, 'the body is not JSON', error)
    }
    const reading = shape.safeParse(json)
    if (reading.success) return reading.data
    const [issue] = reading.error.issues
    const where = issue?.path.join('.') || 'the body'
    throw strange(url, 200, `${where}: ${issue?.message ?? 'unexpected'}`, reading.error)
  }
  const answer: ServiceClient['answer'] = async (method, path, shape, given) => {
    const response = await request(method, path, given)
    return { body: parse(await read(response), shape), headers: response.headers }
  }
  const json: ServiceClient['json'] = async (...asked) => (await answer(...asked)).body
  return { url, token, request, read, parse, answer, json }
}

function unreachable(url: string, error: unknown): ServiceFailure {
  const cause = (error as Error).cause as NodeJS.ErrnoException | undefined
  const why =
    cause?.code === 'ECONNREFUSED'
      ? `Nothing answers at ${url}. Start a service with: wellhead serve, or name another with --url or WELLHEAD_URL.`
      : `${url} cannot be reached: ${cause?.message || cause?.code || (error as Error).message}. Check --url or WELLHEAD_URL, and the network.`
  return new ServiceFailure(why, { status: 0, code: cause?.code ?? 'unreachable', cause: error })
}

interface ErrorAnswer {
  error: { code: string; message: string; parameter?: string; request_id?: string }
}

async function refused(url: string, response: Response): Promise<ServiceFailure> {
  const { status } = response
  const text = await response.text().catch(() => '')
  const answer = readAnswer(text)
  if (!answer) return strange(url, status)
  const { code, message, parameter, request_id } = answer.error
  const told = [
    code,
    ...(parameter === undefined ? [] : [`parameter ${parameter}`]),
    ...(request_id === undefined ? [] : [`request ${request_id}`]),
  ]
  const after = Number(response.headers.get('retry-after') ?? Number.NaN)
  return new ServiceFailure(`${message} (${told.join(', ')})`, {
    status,
    code,
    retryAfterSeconds: Number.isFinite(after) ? after : undefined,
  })
}

function readAnswer(text: string): ErrorAnswer | undefined {
  try {
    const answer = JSON.parse(text) as ErrorAnswer
    return typeof answer.error.message === 'string' ? answer : undefined
  } catch {
    return undefined
  }
}

/** Something else listens there, or a service of a version that is too different. */
export function strange(url: string, status: number, what?: string, cause?: unknown): ServiceFailure {
  const told = what === undefined ? '' : ` (${what})`
  return new ServiceFailure(
    `${url} answered with ${status}, but not as Wellhead does${told}. Check --url or WELLHEAD_URL.`,
    { status, code: 'strange_answer', cause },
  )
}
