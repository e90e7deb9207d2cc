/** A file of the data directory with a key that no table has. A backup has the file, unless the key is a setting. */
export interface KeyFile {
  readonly name: string
  /** For people: "the key of webhooks". */
  readonly title: string
  /** The environment variable that sets the key instead. */
  readonly variable: string
  /** Selects a row if something that is stored depends on the key. */
  readonly usedSql: string
  /** What a service without the key cannot do, up to "before you copy the file". */
  readonly missing: string
}
