/** Figures of a run of a recent request. Null: unknown, or the request failed. */
export interface RunFigures {
  rows: number | null
  duration_ms: number
  rows_read: number | null
  error: { code: string; message: string } | null
}

export interface ReplayedRequest {
  uses: number
  tenant: boolean
  format: string
  outcome: 'same' | 'different' | 'failed'
  before: RunFigures
  after: RunFigures
  added_rows: number
  removed_rows: number
  reordered: boolean
  unstable: boolean
  /** Only if values were requested, like the following fields. */
  parameters?: Record<string, string>
  project?: string | null
  examples?: { before: Record<string, unknown> | null; after: Record<string, unknown> | null }[]
}

/** How recent requests of an endpoint differ between its current version and a new one. */
export interface Replay {
  endpoint: string
  version: number
  at: string
  requests: ReplayedRequest[]
  skipped: number
}
