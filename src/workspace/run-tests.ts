import { createSources, problemOf } from './check-workspace.ts'
import { compareResponse } from './compare-rows.ts'
import type { FileProblem } from './file-problem.ts'
import type { EndpointTest } from './test-file.ts'
import type { Workbench } from './workbench.ts'
import type { Workspace } from './workspace.ts'

export type TestOutcome =
  | { test: EndpointTest; kind: 'passed' }
  | { test: EndpointTest; kind: 'failed'; message: string; rows?: readonly Record<string, unknown>[] }

interface TestRun {
  problems: FileProblem[]
  outcomes: TestOutcome[]
}

/** Runs tests in sequence, grouped by fixtures so that each group loads them once. */
export async function runTests(
  workspace: Workspace,
  tests: readonly EndpointTest[],
  bench: Workbench,
  onOutcome: (outcome: TestOutcome) => void,
): Promise<TestRun> {
  const problems = await createSources(workspace, bench)
  const needed = new Set(tests.map(({ endpoint }) => endpoint))
  for (const endpoint of workspace.endpoints) {
    if (!needed.has(endpoint.definition.name)) continue
    const error = await bench.save(endpoint.definition)
    if (error) problems.push(problemOf(endpoint, error))
  }
  if (problems.length > 0) return { problems, outcomes: [] }
  const outcomes: TestOutcome[] = []
  for (const group of bySets(tests)) {
    const sets = group[0]?.fixtures ?? []
    await bench.load(sets.flatMap((set) => workspace.fixtures.get(set) ?? []))
    for (const test of group) {
      const outcome = await runTest(test, bench)
      outcomes.push(outcome)
      onOutcome(outcome)
    }
  }
  return { problems, outcomes }
}

async function runTest(test: EndpointTest, bench: Workbench): Promise<TestOutcome> {
  const response = await bench.call(test)
  const message = compareResponse(test, response)
  if (message === undefined) return { test, kind: 'passed' }
  const { rows, code, status } = test
  const wantsRows = rows !== undefined || (code === undefined && (status ?? 200) === 200)
  const updatable = wantsRows && response.status === 200
  return { test, kind: 'failed', message, ...(updatable && { rows: response.body.result }) }
}

function bySets(tests: readonly EndpointTest[]): EndpointTest[][] {
  const groups = new Map<string, EndpointTest[]>()
  for (const test of tests) {
    const key = JSON.stringify(test.fixtures)
    groups.set(key, [...(groups.get(key) ?? []), test])
  }
  return [...groups.values()]
}
