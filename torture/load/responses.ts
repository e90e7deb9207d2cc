/** Status and error code of a response; status 0 means no response. */
export interface ResponseSummary {
  status: number
  code: string | undefined
  retryAfter: string | null
}

export async function summaryOf(call: Promise<Response>): Promise<ResponseSummary> {
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

/** Polls until the condition holds and returns the ms that it took. Throws after `withinMs`. */
export async function waitUntil(
  description: string,
  condition: () => Promise<boolean>,
  withinMs: number,
  pauseMs = 50,
): Promise<number> {
  const since = performance.now()
  while (!(await condition())) {
    if (performance.now() - since > withinMs)
      throw new Error(`Timed out after ${withinMs / 1000} s waiting for ${description}.`)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  return performance.now() - since
}
