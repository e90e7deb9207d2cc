import type { Endpoint } from '../../endpoints/definition/endpoint.ts'
import { backupOperations } from './backup.ts'
import { callingOperations } from './calling.ts'
import { consoleOperations } from './console.ts'
import { describeEndpoint, type Reader } from './endpoint.ts'
import { errorAnswers, errorSchemas } from './errors.ts'
import { exploringOperations } from './exploring.ts'
import { deploymentOperations } from './managing-deployments.ts'
import { endpointOperations } from './managing-endpoints.ts'
import { sourceOperations } from './managing-sources.ts'
import { tokenOperations } from './managing-tokens.ts'
import { type Operation, operationObject } from './operation.ts'
import { schemas } from './schemas.ts'
import { sendingOperations } from './sending.ts'
import { statusOperations } from './status.ts'

export interface DocumentOptions {
  /** Of the service. */
  version: string
  /** Where the service is reached; relative to the document if it is left out. */
  url?: string
  /** The endpoints that have operations of their own: those that the reader may call. */
  endpoints?: readonly Endpoint[]
  reader?: Reader
}

export interface OpenApiDocument {
  openapi: string
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, unknown>>
  components: Record<string, Record<string, unknown>>
}

const tags = [
  { name: 'Saved endpoints', description: 'The endpoints that this token may call.' },
  { name: 'Calling endpoints', description: 'Every endpoint is called in the same way, by its id or name.' },
  { name: 'Sending logs', description: 'Entries come in as JSON, or from OpenTelemetry.' },
  { name: 'Endpoints', description: 'Saved queries: making, changing and deleting them.' },
  { name: 'Sources', description: 'Where entries are kept, and for how long.' },
  { name: 'Access tokens', description: 'Who may call and send what.' },
  { name: 'Backups', description: 'Everything that the service keeps, of one moment.' },
  { name: 'Exploring', description: 'Finding entries, and trying endpoints before they are saved.' },
  { name: 'State and description', description: 'How the service is, and what it can do.' },
  { name: 'Console', description: 'The same for people, in a browser.' },
]

const headers = {
  Age: header('Seconds since the result was computed.', 'integer'),
  'Cache-Control': header('How long the result may be used. It is for this caller only.'),
  'Cache-Status': header('Where the result came from, as in RFC 9211.'),
  ETag: header('Names this state of the answer.'),
  'Idempotency-Replayed': header('`true` if an earlier request with the same key stored the entries.'),
  Location: header('Address of what was made.'),
  'Retry-After': header('Seconds after which to come back.', 'integer'),
  'Server-Timing': header('Where the time went, in milliseconds.'),
  'Wellhead-Backup-Bytes': header('How many bytes the files in the archive have.', 'integer'),
  'Wellhead-Read-Bytes': header(
    'Bytes that the engine read for this response. Only for tokens with the scope `admin`.',
    'integer',
  ),
  'Wellhead-Read-Rows': header(
    'Rows that the engine read for this response. Only for tokens with the scope `admin`.',
    'integer',
  ),
  'Wellhead-Truncated': header('`true` if there were more rows than the endpoint may return.'),
  'Wellhead-Version': header('Version of the endpoint.', 'integer'),
  'X-Request-Id': header('Names the request in the log of the service.'),
}

const securitySchemes = {
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-KEY' },
  bearer: { type: 'http', scheme: 'bearer' },
}

/** Every operation that does not come from a saved endpoint. */
export const fixedOperations: readonly Operation[] = [
  ...callingOperations,
  ...sendingOperations,
  ...endpointOperations,
  ...deploymentOperations,
  ...sourceOperations,
  ...tokenOperations,
  ...backupOperations,
  ...exploringOperations,
  ...statusOperations,
  ...consoleOperations,
]

const fixedPaths = pathsOf(fixedOperations)

const everybody: Reader = { parameters: {} }

/** The interface in the words of OpenAPI 3.1. */
export function openApiDocument(options: DocumentOptions): OpenApiDocument {
  const { version, url = '/', endpoints = [], reader = everybody } = options
  const described = endpoints.map((endpoint) => describeEndpoint(endpoint, reader))
  const saved = described.map(({ operation }) => operation)
  const used = new Set([...saved, ...fixedOperations].map(({ tag }) => tag))
  return {
    openapi: '3.1.1',
    info: {
      title: 'Wellhead',
      version,
      description: 'Saved SQL over logs, served as fast, always-warm HTTP endpoints.',
    },
    servers: [{ url }],
    tags: tags.filter(({ name }) => used.has(name)),
    paths: { ...pathsOf(saved), ...fixedPaths },
    components: {
      schemas: {
        ...schemas,
        ...errorSchemas,
        ...Object.fromEntries(described.map(({ rowName, row }) => [rowName, row])),
      },
      responses: errorAnswers,
      headers,
      securitySchemes,
    },
  }
}

function pathsOf(operations: readonly Operation[]): OpenApiDocument['paths'] {
  const paths: OpenApiDocument['paths'] = {}
  for (const operation of operations) {
    const { path, method } = operation
    paths[path] = { ...paths[path], [method]: operationObject(operation) }
  }
  return paths
}

function header(description: string, type = 'string'): object {
  return { description, schema: { type } }
}
