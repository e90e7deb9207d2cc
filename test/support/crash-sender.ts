export interface SentBatch {
  ids: string[]
  /** Without a key a batch is sent once: whoever sends it again may store it again. */
  keyed: boolean
  state: 'on its way' | 'acknowledged' | 'refused' | 'unknown'
}

export interface CrashSenderOptions {
  name: string
  keyed: boolean
  token: string
  /** Resolves when there is a service to send to. */
  url: () => Promise<string>
  stopped: () => boolean
  batches: SentBatch[]
}

/** Sends batches one after the other until it is told to stop, and notes what it heard of each. */
export async function sendUntilStopped(options: CrashSenderOptions): Promise<void> {
  const { name, keyed, batches } = options
  for (let number = 0; !options.stopped(); number++) {
    const ids = Array.from({ length: 1 + (number % 5) }, (_, i) => `${name}-${number}-${i}`)
    const batch: SentBatch = { ids, keyed, state: 'on its way' }
    batches.push(batch)
    do {
      batch.state = await send(options, batch, `${name}-${number}`)
      // As shippers do: the same batch with the same key until somebody says that it is stored.
    } while (keyed && batch.state !== 'acknowledged' && !options.stopped())
  }
}

async function send(
  { url, token }: CrashSenderOptions,
  { ids, keyed }: SentBatch,
  key: string,
): Promise<SentBatch['state']> {
  const base = await url()
  try {
    const response = await fetch(`${base}/api/logs?source=edge_logs`, {
      method: 'POST',
      body: JSON.stringify(ids.map((id) => ({ id, project: 'crash', metadata: { key } }))),
      headers: { 'X-API-KEY': token, ...(keyed && { 'Idempotency-Key': key }) },
    })
    const answer = (await response.json()) as { accepted?: number }
    return response.status === 200 && answer.accepted === ids.length ? 'acknowledged' : 'refused'
  } catch {
    return 'unknown'
  }
}
