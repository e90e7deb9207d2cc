import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import { ask, type JsonResponse } from '../../support/callers.ts'
import type { RunningService } from '../../support/service.ts'

/** Headers of HTTP itself, which OpenAPI does not describe. */
const protocolHeaders = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
])

/** Sends the request of an OpenAPI operation and checks the response against its schema. */
export function responseChecker(service: RunningService, document: object) {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(document, 'document')
  return async (
    operation: { method: string; path: string; address?: string; body?: unknown; token?: string | undefined },
    status: number,
  ): Promise<JsonResponse> => {
    const { method, path, address = path, body, token = service.adminToken.token } = operation
    const response = await ask(service, token, method, address, body)
    expect([address, response.status, response.status < 400 ? '' : response.body]).toEqual([
      address,
      status,
      status < 400 ? '' : expect.anything(),
    ])
    const pointer = ['paths', path, method.toLowerCase(), 'responses', String(status)].map(escaped).join('/')
    const at = responseOf(document, pointer.split('/').map(unescaped))
    const { headers } = partOf(document, at.split('/').map(unescaped)) as { headers: object }
    const documented = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
    const others = [...response.headers.keys()].filter(
      (name) => !protocolHeaders.has(name) && !documented.has(name),
    )
    expect([address, others]).toEqual([address, []])
    if (response.status === 204) return response
    const [type = ''] = (response.headers.get('content-type') ?? '').split(';')
    const check = ajv.compile({ $ref: `document#/${at}/content/${escaped(type)}/schema` })
    expect([address, check(response.body) ? [] : check.errors]).toEqual([address, []])
    return response
  }
}

/** Path of the response in the document, with `$ref` resolved. */
function responseOf(document: object, path: string[]): string {
  const found = partOf(document, path)
  const reference = '$ref' in found ? String(found.$ref).slice(2) : undefined
  return reference ?? path.map(escaped).join('/')
}

function partOf(document: object, path: readonly string[]): object {
  return path.reduce((part, key) => (part as Record<string, object>)[key] ?? {}, document)
}

function escaped(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))
}

function unescaped(key: string): string {
  return decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')
}
