import { randomOf } from './random.ts'
import { projects } from './world.ts'

/** What customers request, with weights: mostly cached results, some that are not, and a few mistakes. */
const requests = [
  ['usage.api-counts?interval=hourly', 30],
  ['functions.invocation-stats?interval=1hr', 30],
  ['functions.invocation-stats?interval=7day', 10],
  ['usage.api-counts?interval=daily', 10],
  ['logs.all?project_tier=PRO', 16],
  ['usage.api-counts?interval=weekly', 2],
  ['logs.all?iso_timestamp_start=yesterday', 1],
  ['demo.pattern-search?pattern=Safari/.*7%24', 1],
] as const

/** The requests of three customers, without end. */
export function* customerRequests(seed: number): Generator<{ project: string; path: string }> {
  const random = randomOf('requests', seed)
  for (;;) {
    const { ref } = random.weighted(projects.map((project) => [project, project.share]))
    yield { project: ref, path: `/api/endpoints/query/${random.weighted(requests)}` }
  }
}
