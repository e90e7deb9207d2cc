import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Caller } from '../../access/caller.ts'
import { onFirstUse } from '../../base/on-first-use.ts'
import { version } from '../../base/package-file.ts'
import type { Endpoints } from '../../endpoints/manage/endpoints.ts'
import { type DocumentOptions, documentsOf } from '../openapi/document.ts'
import { docsPage } from '../openapi/pages/docs-page.ts'
import { docsStyle } from '../openapi/pages/docs-style.ts'
import { sendPage } from '../security-headers.ts'
import { json, routesOf, text } from './route.ts'

/** Placeholder for the address of the service, which the request decides. */
const noAddress = 'http://address.invalid'

/** The OpenAPI document, and the same as a page. */
export function addDocsRoutes(server: FastifyInstance, endpoints: Endpoints): void {
  const route = routesOf(server, { tag: 'State and description', access: 'optional' })
  const documents = onFirstUse(() => documentsOf(server.routeList))
  // Built once, so that requests without a token cannot keep the service busy.
  const publicDocument = onFirstUse(() => JSON.stringify(documents()({ version })))
  const publicPage = onFirstUse(() => docsPage(documents()({ version, url: noAddress })))
  const documentFor = (caller: Caller, options: Partial<DocumentOptions> = {}) => {
    const callable = endpoints.list().filter(({ definition }) => caller.mayCall(definition))
    return documents()({ version, endpoints: callable, reader: caller, ...options })
  }
  route('GET /openapi.json', 'getDescription', 'Get the OpenAPI document', {
    description: 'With a token, it has an operation for every endpoint that the token can call.',
    responses: { 200: json('The document.', z.record(z.string(), z.unknown())) },
    handler: async ({ caller }, reply) => {
      variesByToken(reply)
        .header('Cache-Control', 'private, no-cache')
        .type('application/json; charset=utf-8')
      return caller ? documentFor(caller) : publicDocument()
    },
  })
  route('GET /docs', 'getDocs', 'Show the documentation as a page', {
    responses: { 200: text('A page.', 'text/html') },
    handler: async (request, reply) => {
      const { caller } = request
      const url = addressOf(request)
      const page = caller ? docsPage(documentFor(caller, { url })) : publicPage().replaceAll(noAddress, url)
      return sendPage(variesByToken(reply), page)
    },
  })
  route('GET /docs/style.css', 'getDocsStyle', 'Get the style of the documentation page', {
    access: 'public',
    responses: { 200: text('CSS.', 'text/css') },
    handler: async (_request, reply) =>
      reply.header('Cache-Control', 'public, max-age=3600').type('text/css; charset=utf-8').send(docsStyle),
  })
}

function variesByToken(reply: FastifyReply): FastifyReply {
  return reply.header('Vary', 'X-API-KEY, Authorization')
}

/** The address as the reader wrote it, so that the examples work there. */
function addressOf({ protocol, host }: FastifyRequest): string {
  const address = `${protocol}://${host}`
  return /^https?:\/\/[\w.:[\]-]+$/.test(address) && URL.canParse(address) ? address : 'http://127.0.0.1:4000'
}
