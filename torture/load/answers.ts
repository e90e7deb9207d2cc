import type { Target } from '../support/target.ts'

/** Status and error code of a response; status 0 means no response. */
export interface Answer {
  status: number
  code: string | undefined
  retryAfter: string | null
}

export async function answerOf(call: Promise<Response>): Promise<Answer> {
  try {
    const response = await call
    const body = (await response.json()) as { error?: { code: string } }
    return {
      status: response.status,
      code: body.error?.code,
      retryAfter: response.headers.get('retry-after'),
    }
  } catch {
    return { status: 0, code: undefined, retryAfter: null }
  }
}

export function sendOne(target: Target, project: string, id: string): Promise<Answer> {
  const body = JSON.stringify([{ id, project, event_message: 'x'.repeat(1000) }])
  return answerOf(target.call('/api/logs?source=edge_logs', { method: 'POST', body }))
}

/** Polls until the condition holds and returns the ms that it took. Throws after `withinMs`. */
export async function until(
  what: string,
  ask: () => Promise<boolean>,
  withinMs: number,
  pauseMs = 50,
): Promise<number> {
  const since = performance.now()
  while (!(await ask())) {
    if (performance.now() - since > withinMs) throw new Error(`Waited ${withinMs / 1000} s in vain for ${what}.`)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  return performance.now() - since
}
