import { alike, inAddress } from './operation.ts'

export const backupOperations = alike({ tag: 'Backups', access: 'admin' }, [
  {
    method: 'get',
    path: '/api/backup',
    id: 'takeBackup',
    summary: 'Take a backup',
    description:
      'Everything that the service keeps, as it is at one moment, while calls and logs go on. One at a time. ' +
      'The archive holds secrets. Its last file is `manifest.json`: without it a backup was cut short.',
    parameters: [inAddress('_format', 'The form of the archive.', { type: 'string', enum: ['tar'] })],
    answers: {
      200: {
        description: 'A tar archive.',
        headers: { 'Wellhead-Backup-Bytes': { $ref: '#/components/headers/Wellhead-Backup-Bytes' } },
        content: {
          'application/x-tar': { schema: { type: 'string', contentMediaType: 'application/x-tar' } },
        },
      },
    },
    errors: [406, 409],
  },
])
