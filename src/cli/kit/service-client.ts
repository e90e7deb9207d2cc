import type { ErrorBody } from '../../core/base/errors.ts'
import { CommandFailure, type CommandIo } from './command-io.ts'
import { findService, type ServiceChoice } from './find-service.ts'
import { visible } from './output/format.ts'

/** `json` is serialized; `body` is sent unchanged. */
export interface ServiceRequest {
  query?: Readonly<Record<string, string>>
  json?: unknown
  body?: string | Uint8Array<ArrayBuffer>
  headers?: Readonly<Record<string, string>>
  /** Stops the request. By default, a signal to the process does. */
  signal?: AbortSignal
}

interface FailureDetails {
  /** 0 without a response. */
  status: number
  code: string
  retryAfterSeconds?: number | undefined
  /** As the service sent it. */
  error?: ErrorBody | undefined
  cause?: unknown
}

export class ServiceFailure extends CommandFailure {
  readonly details: FailureDetails

  constructor(message: string, details: FailureDetails) {
    super(message, undefined, { cause: details.cause })
    this.details = details
  }
}

export class ServiceClient {
  /** Of the command that uses the service. */
  readonly io: CommandIo
  readonly #choice: ServiceChoice
  #service: ReturnType<typeof findService> | undefined

  constructor(choice: ServiceChoice, io: CommandIo) {
    this.#choice = choice
    this.io = io
  }

  /** Found on first use, so that a command can check its other arguments before. */
  find() {
    this.#service ??= findService(this.#choice, this.io)
    return this.#service
  }

  get url(): string {
    return this.find().url
  }

  /** Returns a successful response; throws a ServiceFailure otherwise. */
  async request(method: string, path: string, options: ServiceRequest = {}): Promise<Response> {
    const { query, json, body = JSON.stringify(json), headers, signal = this.io.signal } = options
    const search = query === undefined ? '' : `?${new URLSearchParams(query)}`
    const request = fetch(`${this.url}${path}${search}`, {
      method,
      headers: {
        'X-API-KEY': this.find().token,
        ...(json !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body }),
      // A redirect must not receive the token.
      redirect: 'manual',
      signal,
    })
    const response = await this.#reachable(request)
    // Every response of the service has it, so that no command has to check the shape of a body.
    if (!response.headers.has('x-request-id')) throw unexpectedResponse(this.url, response.status)
    if (!response.ok) throw await errorOf(this.url, response)
    return response
  }

  async read(response: Response): Promise<Buffer> {
    return Buffer.from(await this.#reachable(response.arrayBuffer()))
  }

  /** Parses a body as the type that the service defines. */
  parse<T>(body: Buffer): T {
    try {
      return JSON.parse(body.toString())
    } catch (error) {
      throw unexpectedResponse(this.url, 200, 'the body is not JSON', error)
    }
  }

  async json<T>(method: string, path: string, options?: ServiceRequest): Promise<T> {
    return this.parse<T>(await this.read(await this.request(method, path, options)))
  }

  #reachable<T>(work: Promise<T>): Promise<T> {
    return work.catch((error: unknown) => {
      throw this.io.signal.aborted ? error : unreachable(this.url, error)
    })
  }
}

/** The path of a resource, or of something below it. */
export function apiPath(...parts: readonly (string | number)[]): string {
  return `/api/${parts.map(encodeURIComponent).join('/')}`
}

function unreachable(url: string, error: unknown): ServiceFailure {
  const cause = (error as Error).cause as NodeJS.ErrnoException | undefined
  const message =
    cause?.code === 'ECONNREFUSED'
      ? `No service is listening at ${url}. Start one with "wellhead serve", or set --url or WELLHEAD_URL.`
      : `Cannot reach ${url}: ${cause?.message || cause?.code || (error as Error).message}. Check --url or WELLHEAD_URL, the network and the log of the service, then try again.`
  return new ServiceFailure(message, { status: 0, code: cause?.code ?? 'unreachable', cause: error })
}

async function errorOf(url: string, response: Response): Promise<ServiceFailure> {
  const { status } = response
  const body = (await response.json().catch(() => null)) as { error?: Partial<ErrorBody> } | null
  if (typeof body?.error?.message !== 'string' || body.error.code === undefined) {
    return unexpectedResponse(url, status)
  }
  const { message, parameter, line, column, request_id, changes } = body.error
  // JSON-RPC has numbers.
  const code = String(body.error.code)
  const details = [
    code,
    parameter && `parameter ${parameter}`,
    line && `line ${line}, column ${column}`,
    request_id && `request ${request_id}`,
  ]
  const after = Number(response.headers.get('retry-after') ?? Number.NaN)
  const challenge = response.headers.get('www-authenticate') ?? ''
  const reason = /error_description="([^"]*)/.exec(challenge)?.[1]
  // The name of the flag in the command line.
  const said = message.replace('Set breaking=true', 'Use --breaking')
  const sentences = reason === undefined ? said : `${said} ${reason}`
  const breaking = changes?.map((change) => `\n  breaking  ${change.message}`) ?? []
  const text = `${sentences} (${details.filter(Boolean).join(', ')})${breaking.join('')}`
  // Another program may listen there and send control characters.
  return new ServiceFailure(text.split('\n').map(visible).join('\n'), {
    status,
    code,
    retryAfterSeconds: Number.isFinite(after) ? after : undefined,
    error: { ...body.error, code, message },
  })
}

/** Another program listens there, or an incompatible version of Wellhead. */
export function unexpectedResponse(url: string, status: number, detail?: string, cause?: unknown) {
  const details = detail === undefined ? '' : ` (${detail})`
  return new ServiceFailure(
    `The response of ${url} (${status}) is not from Wellhead${details}. Check --url or WELLHEAD_URL.`,
    { status, code: 'unexpected_response', cause },
  )
}
