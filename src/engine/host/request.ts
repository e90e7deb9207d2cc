import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { exceptions } from './exceptions.ts'

export interface EngineRequest {
  sql: string
  rows: Buffer | undefined
  format: string
  queryId: string
  /** Default database of the statement; undefined for that of the host. */
  database: string | undefined
  readOnly: boolean
  settings: Map<string, string>
  parameters: Map<string, string>
}

/** Options of the transport, or without effect in a session of the host. */
const ignored = new Set([
  'wait_end_of_query',
  'enable_http_compression',
  'cancel_http_readonly_queries_on_client_close',
])

const settingName = /^[a-z][a-z0-9_]*$/i
const parameterName = /^[A-Za-z_]\w*$/

/** The client uses this form if the parameters are too long for a URL. */
function* multipartFields(body: Buffer, contentType: string): Generator<[string, string]> {
  const boundary = /boundary="?([^";]+)/.exec(contentType)?.[1]
  if (boundary === undefined) throw exceptions.badRequest('The multipart body has no boundary.')
  const delimiter = Buffer.from(`--${boundary}`)
  let at = body.indexOf(delimiter)
  while (at >= 0) {
    const start = at + delimiter.length
    const next = body.indexOf(delimiter, start)
    if (next < 0) return
    const headEnd = body.indexOf('\r\n\r\n', start)
    if (headEnd < 0 || headEnd > next) throw exceptions.badRequest('The multipart body is malformed.')
    const name = /name="([^"]+)"/.exec(body.toString('utf8', start, headEnd))?.[1]
    if (name === undefined) throw exceptions.badRequest('A multipart field has no name.')
    yield [name, body.toString('utf8', headEnd + 4, next - 2)]
    at = next
  }
}

export async function readRequest(message: IncomingMessage): Promise<EngineRequest> {
  const address = message.url ?? ''
  const query = address.indexOf('?')
  const fields = new URLSearchParams(query < 0 ? '' : address.slice(query + 1))
  const body = await buffer(message)
  const contentType = message.headers['content-type'] ?? ''
  const multipart = contentType.startsWith('multipart/form-data')
  const entries: Iterable<[string, string]> = multipart
    ? [...fields, ...multipartFields(body, contentType)]
    : fields
  const request: EngineRequest = {
    sql: '',
    rows: undefined,
    format: 'TabSeparated',
    queryId: '',
    database: undefined,
    readOnly: false,
    settings: new Map(),
    parameters: new Map(),
  }
  for (const [name, value] of entries) setField(request, name, value)
  if (!multipart && body.length > 0) {
    if (request.sql === '') request.sql = body.toString('utf8')
    else request.rows = body
  }
  if (request.sql.trim() === '') throw exceptions.badRequest('The request has no query.')
  return request
}

function setField(request: EngineRequest, name: string, value: string): void {
  if (name === 'query') request.sql += value
  else if (name === 'query_id') request.queryId = value
  else if (name === 'database') request.database = value
  else if (name === 'readonly') request.readOnly = value !== '0'
  else if (name.startsWith('param_')) {
    const parameter = name.slice('param_'.length)
    if (!parameterName.test(parameter)) throw exceptions.badRequest(`Invalid parameter name "${name}".`)
    request.parameters.set(parameter, value)
  } else if (!ignored.has(name)) {
    if (!settingName.test(name)) throw exceptions.badRequest(`Invalid setting name "${name}".`)
    request.settings.set(name, value)
  }
}
