import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { notFound } from '../../base/errors.ts'
import { chooseCoding, matchedEtag } from '../cache-headers.ts'
import { pathOf } from '../request-log.ts'
import { pageHeaders } from '../security-headers.ts'
import type { ConsoleFile, ConsoleFiles } from './console-files.ts'

/** Everything comes from this service, and nothing is written into the page. */
const consolePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Pages of the console; each is the same document, which reads the rest off its address. */
export const consolePages = ['endpoints', 'new-endpoint', 'explore', 'sources', 'tokens'] as const

const config = { access: 'public' } as const
const options = { config, logLevel: 'warn' } as const

/** The web console. It holds no data: whoever opens it signs in with a token, which goes along with each call. */
export function addConsoleRoutes(server: FastifyInstance, { page, assets }: ConsoleFiles): void {
  const pages = new Set<string>(consolePages)
  const sendPage = (request: FastifyRequest, reply: FastifyReply) => {
    if (!page) throw notFound(request.method, `${pathOf(request.url)}: the console was not built`)
    reply.header('Content-Security-Policy', consolePolicy).header('Cache-Control', 'no-cache')
    return send(request, reply, page)
  }
  server.get('/', options, async (request, reply) => sendPage(request, reply))
  for (const path of ['/console/:page', '/console/:page/:name']) {
    server.get<{ Params: { page: string } }>(path, options, async (request, reply) => {
      if (!pages.has(request.params.page)) throw notFound(request.method, pathOf(request.url))
      return sendPage(request, reply)
    })
  }
  server.get<{ Params: { file: string } }>('/console/assets/:file', options, async (request, reply) => {
    const file = assets.get(request.params.file)
    if (!file) throw notFound(request.method, pathOf(request.url))
    // The names tell their content.
    reply.header('Cache-Control', 'public, max-age=31536000, immutable')
    return send(request, reply, file)
  })
}

function send(request: FastifyRequest, reply: FastifyReply, file: ConsoleFile): FastifyReply {
  const { contentType, etag, forms } = file
  reply.headers(pageHeaders).header('Vary', 'Accept-Encoding').header('ETag', etag)
  if (matchedEtag(request.headers['if-none-match'], [etag]) !== undefined) return reply.code(304).send()
  const coding = chooseCoding(request.headers['accept-encoding'])
  const packed = coding === 'identity' ? undefined : forms[coding]
  if (packed) reply.header('Content-Encoding', coding)
  return reply.type(contentType).send(packed ?? forms.identity)
}
