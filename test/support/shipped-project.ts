import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { ManualClock } from '../../src/base/clock.ts'
import { readProject } from '../../src/project/project.ts'
import { runTests } from '../../src/project/run-tests.ts'
import { Workbench } from '../../src/project/workbench.ts'
import type { RunningService } from './service.ts'

/** The repository is a project itself; `wellhead test` in it does the same with an engine of its own. */
export function shippedProject(running: () => RunningService, clock: ManualClock): void {
  test('the shipped endpoints do what their own tests say', async () => {
    const project = readProject(fileURLToPath(new URL('../..', import.meta.url)))
    const bench = new Workbench(running(), (nowMs) => clock.advance(nowMs - clock.now()))
    const tests = project.tests.flatMap((file) => file.tests)
    const { problems, outcomes } = await runTests(project, tests, bench, () => {})
    expect(problems).toEqual([])
    expect(outcomes.filter(({ kind }) => kind === 'failed')).toEqual([])
    expect(outcomes).toHaveLength(tests.length)
    expect(outcomes.length).toBeGreaterThan(20)
  })
}
