import type { FastifyInstance } from 'fastify'
import { tooLarge } from '../base/errors.ts'
import { JsonScanner } from '../intake/json-scanner.ts'

/** Bounds of a body of JSON. Logs have their own. */
export const jsonLimits = { maxBytes: 2 ** 20, maxDeploymentBytes: 4 * 2 ** 20, maxValues: 20_000 } as const

/** An object with very many keys takes long to parse, during which nobody else is served: they are counted before. */
export function boundJsonBodies(server: FastifyInstance): void {
  const parse = server.getDefaultJsonParser('error', 'error')
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (request, text: string, done) => {
    if (text.length > jsonLimits.maxValues && countValues(text) > jsonLimits.maxValues) {
      done(tooLarge(`The body has more than ${jsonLimits.maxValues} values.`))
    } else parse(request, text, done)
  })
}

/** Up to the first mistake in the text, which the parser reports. */
function countValues(text: string): number {
  const scanner = new JsonScanner(Buffer.from(text))
  scanner.space()
  scanner.value()
  return scanner.values
}
