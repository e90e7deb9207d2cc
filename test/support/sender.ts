import type { Ledger, SentBatch } from './ledger.ts'

export interface SenderOptions {
  name: string
  keyed: boolean
  project: string
  call: (path: string, init: RequestInit) => Promise<Response>
  stopped: () => boolean
  ledger: Ledger
  /** Between two batches; by default, the next one follows at once. */
  pauseMs?: number | undefined
  /** Gets the status and error of every response; 0 means no response. */
  onStatus?: (status: number, error: { code: string; message: string } | undefined) => void
}

const retryAfterMs = 20

/** Sends batches one after the other until it is stopped, and records the responses. */
export async function sendUntilStopped(options: SenderOptions): Promise<void> {
  const { name, keyed, ledger, pauseMs = 0 } = options
  for (let number = 0; !options.stopped(); number++) {
    const ids = Array.from({ length: 1 + (number % 5) }, (_, i) => `${name}-${number}-${i}`)
    const batch = ledger.begin(ids, keyed)
    do {
      ledger.settle(batch, await send(options, batch, `${name}-${number}`))
      // Without a pause it would flood a service that refuses immediately.
      if (batch.state !== 'acknowledged') await new Promise((resolve) => setTimeout(resolve, retryAfterMs))
      // Like log shippers, retries the same batch with the same key until it is acknowledged.
    } while (keyed && batch.state !== 'acknowledged' && !options.stopped())
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

async function send(
  { call, project, onStatus }: SenderOptions,
  { ids, keyed }: SentBatch,
  key: string,
): Promise<SentBatch['state']> {
  try {
    const response = await call('/api/logs?source=edge_logs', {
      method: 'POST',
      body: JSON.stringify(ids.map((id) => ({ id, project, metadata: { key } }))),
      ...(keyed && { headers: { 'Idempotency-Key': key } }),
    })
    const answer = (await response.json()) as {
      accepted?: number
      error?: { code: string; message: string }
    }
    onStatus?.(response.status, answer.error)
    return response.status === 200 && answer.accepted === ids.length ? 'acknowledged' : 'refused'
  } catch {
    onStatus?.(0, undefined)
    return 'unknown'
  }
}
