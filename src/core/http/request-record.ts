/** How a request used the cache. `none`: the endpoint has no cache, or the request failed before the lookup. */
export const cacheUses = ['none', 'hit', 'stale', 'miss', 'joined', 'bypass'] as const

/** One request to an endpoint and how it ended. It holds no parameter values. */
export interface RequestRecord {
  readonly endpoint: string
  readonly endpointId: string
  readonly version: number
  readonly tokenId: string
  /** The token's project; empty for a token that reads all projects. */
  readonly project: string
  readonly method: string
  readonly requestId: string
  format: string
  status: number
  /** Error code; empty for success. */
  code: string
  cache: (typeof cacheUses)[number]
  totalMs: number
  engineMs: number
  rows: number
  bytes: number
  /** For admins only, so it is not in the stored entry, which tenants can read. */
  rowsRead: number | undefined
}
