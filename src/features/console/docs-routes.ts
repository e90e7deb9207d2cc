import type { FastifyInstance } from 'fastify'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Caller } from '../../core/access/caller.ts'
import { onFirstUse } from '../../core/base/on-first-use.ts'
import { version } from '../../core/base/package-file.ts'
import { contentTag } from '../../core/base/text/content-tag.ts'
import type { Endpoints } from '../../core/endpoints/manage/endpoints.ts'
import { documentsOf } from '../../core/http/openapi/document.ts'
import { isAllowed, type RouteAccess } from '../../core/http/route-access.ts'
import { fileResponses, json, routesOf } from '../../core/http/routes/route.ts'
import { compressedFile, type ServedFile, sendFile } from '../../core/http/send-file.ts'

/** The limit for all documents together. */
const maxKeptBytes = 16 * 2 ** 20

/** The OpenAPI document, made once for all callers who may call the same endpoints. */
export function addDocsRoutes(
  server: FastifyInstance,
  { endpoints, brandName }: { endpoints: Endpoints; brandName: string | undefined },
): void {
  const route = routesOf(server, { tag: 'State and description', access: 'optional' })
  const documents = onFirstUse(() => documentsOf(server))
  const kept = new LRUCache<string, ServedFile, () => string>({
    maxSize: maxKeptBytes,
    sizeCalculation: ({ forms: { identity, gzip, br } }) =>
      identity.length + (gzip?.length ?? 0) + (br?.length ?? 0),
    // A file that was evicted while it was made is still sent.
    ignoreFetchAbort: true,
    fetchMethod: (_key, _kept, { context: made }) =>
      compressedFile('application/json; charset=utf-8', made()),
  })

  route('GET /openapi.json', 'getDescription', 'Get the OpenAPI document', {
    description:
      'With a token, it has an operation for every endpoint that the token can call. With a project, it has nothing that the token cannot call.',
    responses: fileResponses(json('The document.', z.record(z.string(), z.unknown()))),
    handler: async (request, reply) => {
      const { caller } = request
      const callable = caller ? endpoints.list().filter(({ definition }) => caller.mayCall(definition)) : []
      const reader = caller ?? { parameters: {} }
      const versions = callable.map(({ definition, version }) => [definition.id, version])
      // The same for all who see the same.
      const key = contentTag(
        JSON.stringify([
          versions,
          Object.keys(reader.parameters).sort(),
          caller?.project !== undefined && uses(caller),
        ]),
      )
      const customer = caller?.project !== undefined && {
        title: brandName ?? 'Wellhead',
        mayUse: (needed: RouteAccess) => isAllowed[needed](caller),
      }
      const made = () =>
        JSON.stringify(documents()({ version, endpoints: callable, reader, ...(customer && { customer }) }))
      const file = await kept.forceFetch(key, { context: made })
      return sendFile(request, reply.header('Cache-Control', 'private, no-cache'), file)
    },
  })
}

/** What a caller can do, as far as routes distinguish it. */
function uses(caller: Caller): string[] {
  return Object.entries(isAllowed).flatMap(([needed, allows]) => (allows(caller) ? [needed] : []))
}
