/** Names of the files of a data directory that list erasures. */
export const erasureFiles = {
  own: 'erasures.jsonl',
  /** Erasures of the original data directory, beside those of a restored backup. */
  restored: 'erasures-restored.jsonl',
} as const
