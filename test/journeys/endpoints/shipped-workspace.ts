import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { ManualClock } from '../../../src/base/clock.ts'
import { runTests } from '../../../src/workspace/run-tests.ts'
import { Workbench } from '../../../src/workspace/workbench.ts'
import { readProject } from '../../../src/workspace/workspace.ts'
import type { RunningService } from '../../support/service.ts'

/** The repository is a project itself; `wellhead test` in it does the same with an engine of its own. */
export function shippedProject(running: () => RunningService, clock: ManualClock): void {
  test('the shipped endpoints do what their own tests say', async () => {
    const project = readProject(fileURLToPath(new URL('../../../shipped', import.meta.url)))
    const bench = new Workbench(running(), (nowMs) => clock.advance(nowMs - clock.now()))
    const tests = project.tests.flatMap((file) => file.tests)
    const { problems, outcomes } = await runTests(project, tests, bench, () => {})
    expect(problems).toEqual([])
    expect(outcomes.filter(({ kind }) => kind === 'failed')).toEqual([])
    expect(outcomes).toHaveLength(tests.length)
    expect(outcomes.length).toBeGreaterThan(20)
  })
}
