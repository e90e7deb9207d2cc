import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { loadKinds } from '../../../src/kinds.ts'
import { runTests } from '../../../src/workspace/check-workspace.ts'
import { temporaryService } from '../../../src/workspace/temporary-service.ts'
import { readWorkspace } from '../../../src/workspace/workspace.ts'
import type { ManualClock } from '../../support/manual-clock.ts'
import type { RunningService } from '../../support/service.ts'

/** The shipped endpoints are a workspace; `wellhead test` in it runs the same tests with its own engine. */
export function shippedWorkspace(running: () => RunningService, clock: ManualClock): void {
  test('the shipped endpoints do what their own tests say', async () => {
    await loadKinds()
    const workspace = readWorkspace(fileURLToPath(new URL('../../../shipped', import.meta.url)))
    const service = temporaryService(running(), (nowMs) => clock.advance(nowMs - clock.now()))
    const tests = workspace.tests.flatMap((file) => file.tests)
    const { problems, outcomes } = await runTests(workspace, tests, service, () => {})
    expect(problems).toEqual([])
    expect(outcomes.filter(({ failure }) => failure !== undefined)).toEqual([])
    expect(outcomes).toHaveLength(tests.length)
    expect(outcomes.length).toBeGreaterThan(20)
  })
}
