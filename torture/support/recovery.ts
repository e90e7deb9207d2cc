import { answerOf } from '../load/answers.ts'
import type { Target } from './target.ts'

/** Resolves when an endpoint that is not cached gives an answer of the engine. */
export async function whenAnswering(target: Target, withinMs: number): Promise<void> {
  const until = performance.now() + withinMs
  for (;;) {
    const { status, code } = await answerOf(target.call('/api/endpoints/query/torture.count?project='))
    if (status === 200) return
    if (performance.now() > until)
      throw new Error(`It did not recover (${status} ${code}): ${target.words()}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
