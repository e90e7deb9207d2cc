/** The fields of an entry that a search reads. */
export interface StoredEntry {
  readonly project: string
  readonly id: string
  readonly event_message: string
  /** As JSON. */
  readonly metadata: string
}
