import type { FastifyInstance } from 'fastify'
import { tooLarge } from '../base/errors.ts'
import { JsonScanner } from '../base/json/json-scanner.ts'

/** Limits of a JSON body. Logs have their own. */
export const jsonLimits = { maxBytes: 2 ** 20, maxDeploymentBytes: 4 * 2 ** 20, maxValues: 20_000 } as const

/** Counts values before parsing: an object with very many keys would block the process for too long. */
export function limitJsonBodies(server: FastifyInstance): void {
  const parse = server.getDefaultJsonParser('error', 'error')
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (request, text: string, done) => {
    if (text.length > jsonLimits.maxValues && countValues(text) > jsonLimits.maxValues) {
      done(tooLarge(`The body has more than ${jsonLimits.maxValues} values.`))
    } else parse(request, text, done)
  })
}

/** Counts up to the first syntax error, which the parser reports. */
function countValues(text: string): number {
  const scanner = new JsonScanner(Buffer.from(text))
  scanner.space()
  scanner.value()
  return scanner.values
}
