import { natively } from '../../test/support/engines.ts'
import { summaryOf } from '../load/responses.ts'
import type { Target } from './target.ts'

const pauseMs = natively(10, 50)

/** Resolves when an uncached endpoint responds with 200. */
export async function waitForRecovery(target: Target, withinMs: number): Promise<void> {
  const until = performance.now() + withinMs
  for (;;) {
    const { status, code } = await summaryOf(target.call('/api/endpoints/query/torture.count?project='))
    if (status === 200) return
    if (performance.now() > until)
      throw new Error(`The service did not recover (${status} ${code}): ${target.output()}`)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
