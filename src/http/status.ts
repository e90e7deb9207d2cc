/** What /ready and /api/status tell of the engine. */
export interface EngineStatus {
  ready: boolean
  reason?: string
  version?: string
  restarts: number
}
