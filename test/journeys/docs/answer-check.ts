import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import { type Answer, ask } from '../../support/callers.ts'
import type { RunningService } from '../../support/service.ts'

/** Sends the request of an operation, and checks the response against the document. */
export function answerChecker(service: RunningService, document: object) {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(document, 'document')
  return async (
    operation: { method: string; path: string; address?: string; body?: unknown; token?: string | undefined },
    status: number,
  ): Promise<Answer> => {
    const { method, path, address = path, body, token = service.adminToken.token } = operation
    const answer = await ask(service, token, method, address, body)
    expect([address, answer.status, answer.status < 400 ? '' : answer.body]).toEqual([
      address,
      status,
      status < 400 ? '' : expect.anything(),
    ])
    const pointer = ['paths', path, method.toLowerCase(), 'responses', String(status)].map(escaped).join('/')
    const at = responseOf(document, pointer.split('/').map(unescaped))
    if (answer.status === 204) return answer
    const check = ajv.compile({ $ref: `document#/${at}/content/application~1json/schema` })
    expect([address, check(answer.body) ? [] : check.errors]).toEqual([address, []])
    return answer
  }
}

/** Where the response is described, following a reference. */
function responseOf(document: object, path: string[]): string {
  const found = path.reduce((part, key) => (part as Record<string, object>)[key] ?? {}, document)
  const reference = '$ref' in found ? String(found.$ref).slice(2) : undefined
  return reference ?? path.map(escaped).join('/')
}

function escaped(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))
}

function unescaped(key: string): string {
  return decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')
}
