import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { crossSite, notAcceptable } from '../../core/base/errors.ts'
import { header } from '../../core/http/openapi/headers.ts'
import { authorOf } from '../../core/http/routes/management.ts'
import { routesOf } from '../../core/http/routes/route.ts'
import type { Audit } from '../audit/index.ts'
import type { Backups } from './backups.ts'

const mediaType = 'application/x-tar'

export function addBackupRoutes(
  server: FastifyInstance,
  { backups, audit }: { backups: Backups; audit: Audit },
): void {
  const route = routesOf(server, { tag: 'Backups', access: 'admin' })
  route('GET /api/backup', 'takeBackup', 'Take a backup', {
    description: 'A consistent snapshot with secrets. Without `manifest.json` at its end, it is incomplete.',
    query: z.object({
      _format: z
        .unknown()
        .meta({ description: 'Format of the archive.', type: 'string', enum: ['tar'] })
        .optional(),
    }),
    responses: {
      200: {
        description: 'A tar archive.',
        headers: ['Content-Disposition'],
        ownHeaders: {
          'Wellhead-Backup-Bytes': header('Total size of the files in the archive, in bytes.', 'integer'),
        },
        content: { [mediaType]: { schema: { type: 'string', contentMediaType: mediaType } } },
      },
    },
    errors: [406, 409],
    handler: async (request, reply) => {
      // Over plain HTTP, the header may be missing, so that a link of another site cannot be told from one of the console.
      if (request.cookieToken !== undefined && !request.headers['sec-fetch-site']) throw crossSite()
      const { _format: format = 'tar' } = request.query
      if (format !== 'tar') throw notAcceptable(['tar'])
      reply.type(mediaType)
      // HEAD must not start a backup.
      if (request.method === 'HEAD') return reply.send()
      await audit.write('backup.create', 'backup', authorOf(request))
      const { stream, bytes } = await backups.begin()
      if (reply.raw.destroyed) stream.destroy()
      reply.header('Content-Disposition', 'attachment; filename="wellhead-backup.tar"')
      reply.header('Wellhead-Backup-Bytes', String(bytes))
      return reply.send(stream)
    },
  })
}
