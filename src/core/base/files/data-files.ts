import reserved from './reserved-files.json' with { type: 'json' }

/** Files of core in a data directory, beside the tables. */
export const dataFiles = {
  adminToken: 'admin-token',
  warmKeys: 'warm-keys.json',
  version: 'version.json',
} as const

/**
 * Files of a data directory that a backup has. Names are never removed: the data of a service may have a file of a feature that
 * this build lacks.
 */
export const reservedFiles: readonly string[] = reserved
