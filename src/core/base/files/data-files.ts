/** Files of a data directory, beside the tables. A backup has all of them. */
export const dataFiles = {
  adminToken: 'admin-token',
  alertKey: 'alert-key',
  warmKeys: 'warm-keys.json',
  version: 'version.json',
  erasures: 'erasures.jsonl',
  /** Those of the original data directory, beside those of the backup. */
  restoredErasures: 'erasures-restored.jsonl',
} as const
