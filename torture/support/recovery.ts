import type { Target } from './target.ts'

/** Resolves when an endpoint that is not cached gives an answer of the engine. */
export async function whenAnswering(target: Target, withinMs: number): Promise<void> {
  const until = performance.now() + withinMs
  for (;;) {
    const status = await target.call('/api/endpoints/query/torture.count?project=').then(
      (response) => response.status,
      () => 0,
    )
    if (status === 200) return
    if (performance.now() > until) throw new Error(`It did not recover: ${target.stderr().slice(-2000)}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
