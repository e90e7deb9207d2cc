import type { RunningService } from './service.ts'

export interface IntakeResponse {
  message: string
  accepted: number
  rejected: number
  dropped?: number
  errors: { index: number; reason: string }[]
}

export interface Entry {
  id: string
  timestamp: number
  project: string
  event_message: string
  metadata: Record<string, unknown>
}

/** Sends logs and reads recent entries with the admin token. */
export function logClient(service: () => RunningService) {
  return {
    send: async (source: string, body: string | Buffer, headers: Record<string, string> = {}) => {
      const response = await service().call(`/api/logs?source=${source}`, { method: 'POST', body, headers })
      return {
        status: response.status,
        body: (await response.json()) as IntakeResponse & { error?: { code: string } },
      }
    },
    recent: async (source: string, limit = 100) =>
      (await (await service().call(`/api/sources/${source}/recent?limit=${limit}`)).json()) as Entry[],
  }
}
