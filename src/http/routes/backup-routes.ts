import type { FastifyInstance } from 'fastify'
import type { Backups } from '../../backup/backups.ts'
import { notAcceptable } from '../../base/errors.ts'

const mediaType = 'application/x-tar'

/** A backup as one stream, so that any client can take one. */
export function addBackupRoutes(server: FastifyInstance, backups: Backups): void {
  server.get<{ Querystring: { _format?: string } }>('/api/backup', async (request, reply) => {
    const { _format: format = 'tar' } = request.query
    if (format !== 'tar') throw notAcceptable(['tar'])
    reply.type(mediaType)
    // Nothing is held for somebody who only looks whether it is there.
    if (request.method === 'HEAD') return reply.send()
    const { stream, bytes } = await backups.begin()
    if (reply.raw.destroyed) stream.destroy()
    reply.header('Content-Disposition', 'attachment; filename="wellhead-backup.tar"')
    reply.header('Wellhead-Backup-Bytes', String(bytes))
    return reply.send(stream)
  })
}
