import { afterAll, expect, test } from 'vitest'
import { scenariosByTest } from '../scenarios.ts'
import { runScenario } from './run-scenario.ts'
import { SharedResources } from './shared-resources.ts'

/** The same in every run: `npm test` judges a change, and `npm run torture` looks for faults with other seeds. */
const usualSeed = 9

/** Registers a test for the short form of each scenario of a file. If one cannot run here, its name says why it is skipped. */
export function testShortForms(file: string): void {
  const shared = new SharedResources()
  afterAll(() => shared.close())
  const seed = Number(process.env.TORTURE_SEED ?? usualSeed)
  for (const scenario of scenariosByTest[file] ?? []) {
    const skipped = scenario.needs?.()
    const title = `${scenario.name}: ${scenario.title}`
    test.skipIf(skipped !== undefined)(
      skipped === undefined ? title : `${title} [${skipped}]`,
      {
        timeout: 900_000,
      },
      async () => {
        const { faults, kept } = await runScenario(scenario, {
          form: 'short',
          seed,
          minutes: 0.1,
          command: `TORTURE_SEED=${seed} node scripts/test.mjs ${file} -t '${scenario.name}:'`,
          shared,
          say: (line) => console.log(line),
        })
        expect({ seed, faults, kept }).toEqual({ seed, faults: [] })
      },
    )
  }
}
