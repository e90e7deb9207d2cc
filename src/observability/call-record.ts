/** How the cache took part in a call. `none`: the endpoint has no cache, or the call failed before it came to that. */
export const cacheUses = ['none', 'hit', 'stale', 'miss', 'joined', 'bypass'] as const

export type CacheUse = (typeof cacheUses)[number]

/** What many calls have in common. One object stands for all of them, so that they can be told apart by it. */
export interface CallSubject {
  readonly endpoint: string
  readonly endpointId: string
  readonly version: number
  readonly tokenId: string
  /** Of the token; empty for one that sees all projects. */
  readonly project: string
  readonly method: string
  readonly format: string
}

export interface QueryPlan {
  plan: string
  reads: { table: string; parts: number; rows: number; marks: number }[]
}

/** What is wanted of a call only if it is slow or fails. */
export interface CallDetail {
  readonly requestId: string
  /** Asks the engine what the call does. It knows the values of the call, so it is let go of soon. */
  readonly explain?: () => Promise<QueryPlan>
}

/** One call, as it was answered. No value of a parameter is in it. */
export interface CallRecord {
  readonly subject: CallSubject
  readonly status: number
  readonly cache: CacheUse
  /** Monotonic time of the answer, in milliseconds. */
  readonly endedAt: number
  readonly totalMs: number
  readonly engineMs: number
  readonly rows: number
  readonly bytes: number
  /** For admins only, so it is not in the stored entry, which tenants can read. */
  readonly rowsRead: number | undefined
  /** Code of the error; empty where there is none. */
  readonly code: string
  readonly detail: CallDetail | undefined
}
