import { defineError, type FeatureError, waiting } from '../../core/base/errors.ts'

export const backupUnavailable = defineError('backup_unavailable', 409, waiting)

const { code, status } = backupUnavailable
export const backupErrors: readonly FeatureError[] = [
  { code, status, cause: 'another backup is running', after: 'name_taken' },
]
