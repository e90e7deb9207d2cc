import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Caller } from '../../access/caller.ts'
import { onFirstUse } from '../../base/on-first-use.ts'
import { version } from '../../base/package-file.ts'
import { contentTag } from '../../base/text/content-tag.ts'
import type { Endpoints } from '../../endpoints/manage/endpoints.ts'
import { docsPage, docsStyle } from '../openapi/docs-page.ts'
import { documentsOf } from '../openapi/document.ts'
import { docsHeaders } from '../security-headers.ts'
import { compressedFile, type ServedFile, sendFile } from '../send-file.ts'
import { fileResponses, json, pageResponses, routesOf, text } from './route.ts'

const maxKeptBytes = 32 * 2 ** 20

/** The OpenAPI document, and the same as a page. Both are made once for all callers who may call the same endpoints. */
export function addDocsRoutes(server: FastifyInstance, endpoints: Endpoints): void {
  const route = routesOf(server, { tag: 'State and description', access: 'optional' })
  const documents = onFirstUse(() => documentsOf(server.routeList))
  const kept = new LRUCache<string, ServedFile, () => Promise<ServedFile>>({
    maxSize: maxKeptBytes,
    sizeCalculation: ({ forms: { identity, gzip, br } }) =>
      identity.length + (gzip?.length ?? 0) + (br?.length ?? 0),
    // A file that was evicted while it was made is still sent.
    ignoreFetchAbort: true,
    fetchMethod: (_key, _kept, { context: make }) => make(),
  })
  const keep = (key: string, make: () => Promise<ServedFile>) => kept.forceFetch(key, { context: make })

  route('GET /openapi.json', 'getDescription', 'Get the OpenAPI document', {
    description: 'With a token, it has an operation for every endpoint that the token can call.',
    responses: fileResponses(json('The document.', z.record(z.string(), z.unknown()))),
    handler: async (request, reply) => {
      const { key, document } = viewOf(request.caller)
      const make = () => compressedFile('application/json; charset=utf-8', JSON.stringify(document()))
      return send(request, reply, await keep(`document ${key}`, make))
    },
  })
  route('GET /docs', 'getDocs', 'Show the documentation as a page', {
    responses: pageResponses,
    handler: async (request, reply) => {
      const { key, document } = viewOf(request.caller)
      const make = () => compressedFile('text/html; charset=utf-8', docsPage(document()))
      return send(request, reply.headers(docsHeaders), await keep(`page ${key}`, make))
    },
  })
  route('GET /docs/style.css', 'getDocsStyle', 'Get the style of the documentation page', {
    access: 'public',
    responses: { 200: text('CSS.', 'text/css') },
    handler: async (_request, reply) =>
      reply.header('Cache-Control', 'public, max-age=3600').type('text/css; charset=utf-8').send(docsStyle),
  })

  /** What the caller sees, and a key that is the same for all who see the same. */
  function viewOf(caller: Caller | undefined) {
    const callable = caller ? endpoints.list().filter(({ definition }) => caller.mayCall(definition)) : []
    const reader = caller ?? { parameters: {} }
    const versions = callable.map(({ definition, version }) => [definition.id, version])
    return {
      key: contentTag(JSON.stringify([versions, Object.keys(reader.parameters).sort()])),
      document: () => documents()({ version, endpoints: callable, reader }),
    }
  }
}

function send(request: FastifyRequest, reply: FastifyReply, file: ServedFile): FastifyReply {
  return sendFile(request, reply.header('Cache-Control', 'private, no-cache'), file)
}
