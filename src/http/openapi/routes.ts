import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../access/caller.ts'
import { version } from '../../base/version.ts'
import type { Endpoints } from '../../endpoints/manage/endpoints.ts'
import { sendPage } from '../security-headers.ts'
import { type DocumentOptions, openApiDocument } from './document.ts'
import { docsPage } from './pages/docs-page.ts'
import { docsStyle } from './pages/docs-style.ts'

const config = { access: 'optional' } as const

/** Stands for the address of the service, which the reader has to tell first. */
const noAddress = 'http://address.invalid'

/** The description of the interface, for programs and for people. */
export function addOpenApiRoutes(server: FastifyInstance, endpoints: Endpoints): void {
  // Made once: nobody without a token should be able to keep the service busy with it.
  const publicDocument = JSON.stringify(openApiDocument({ version }))
  const publicPage = docsPage(openApiDocument({ version, url: noAddress }))
  const documentFor = (caller: Caller, options: Partial<DocumentOptions> = {}) => {
    const callable = endpoints.list().filter(({ definition }) => caller.mayQuery(definition.name))
    return openApiDocument({ version, endpoints: callable, reader: caller, ...options })
  }
  server.get('/openapi.json', { config }, async ({ caller }, reply) => {
    differsByToken(reply).header('Cache-Control', 'private, no-cache').type('application/json; charset=utf-8')
    return caller ? documentFor(caller) : publicDocument
  })
  server.get('/docs', { config }, async (request, reply) => {
    const { caller } = request
    const url = addressOf(request)
    const page = caller ? docsPage(documentFor(caller, { url })) : publicPage.replaceAll(noAddress, url)
    return sendPage(differsByToken(reply), page)
  })
  server.get('/docs/style.css', { config: { access: 'public' } }, async (_request, reply) =>
    reply.header('Cache-Control', 'public, max-age=3600').type('text/css; charset=utf-8').send(docsStyle),
  )
}

function differsByToken(reply: FastifyReply): FastifyReply {
  return reply.header('Vary', 'X-API-KEY, Authorization')
}

/** As the reader wrote it, so that the examples work where the reader is. */
function addressOf({ protocol, host }: FastifyRequest): string {
  const address = `${protocol}://${host}`
  return /^https?:\/\/[\w.:[\]-]+$/.test(address) && URL.canParse(address) ? address : 'http://127.0.0.1:4000'
}
