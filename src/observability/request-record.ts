/** How a request used the cache. `none`: the endpoint has no cache, or the request failed before the lookup. */
export const cacheUses = ['none', 'hit', 'stale', 'miss', 'joined', 'bypass'] as const

export interface RequestSubject {
  readonly endpoint: string
  readonly endpointId: string
  readonly version: number
  readonly tokenId: string
  /** The token's project; empty for a token that reads all projects. */
  readonly project: string
  readonly method: string
  readonly format: string
}

/** One request to an endpoint and how it ended. It holds no parameter values. */
export interface RequestRecord {
  readonly subject: RequestSubject
  readonly requestId: string
  readonly status: number
  readonly cache: (typeof cacheUses)[number]
  readonly totalMs: number
  readonly engineMs: number
  readonly rows: number
  readonly bytes: number
  /** For admins only, so it is not in the stored entry, which tenants can read. */
  readonly rowsRead: number | undefined
  /** Error code; empty for success. */
  readonly code: string
}
