import { isSandboxFunction } from '../../src/sql/functions.ts'
import { many, openEmbedded } from '../../test/support/engines.ts'
import { FunctionTrials } from '../fuzz/function-trials.ts'
import type { Scenario } from '../support/scenario.ts'

export const functions: Scenario = {
  name: 'functions',
  title: 'every function that a sandbox allows stops at its time limit, without ending the engine',
  async run(run) {
    const { engine, close } = await openEmbedded({ patience: many(1, 10) })
    try {
      const trials = new FunctionTrials(engine, {
        maxSize: run.cycles(1_000_000, 10_000),
        deadlineMs: 1_000,
        say: run.say,
      })
      // The seed sets the order, so that short runs try different functions.
      const names = (await trials.functions())
        .filter(({ name }) => isSandboxFunction(name) && (run.match?.test(name) ?? true))
        .map((each) => ({ ...each, place: run.random() }))
        .sort((one, other) => one.place - other.place)
      const counts = {
        functions: names.length,
        'without working arguments': 0,
        'not tried': 0,
        statements: 0,
      }
      const faults: string[] = []
      for (const [index, each] of names.entries()) {
        if (performance.now() > run.until) {
          counts['not tried'] = names.length - index
          run.say(`time is up at ${each.name}; set more with --minutes`)
          break
        }
        const found = await trials.try(each)
        if (found.kind === 'no arguments') counts['without working arguments']++
        if (found.kind === 'ignores limit') faults.push(`${each.name} ignores its time limit: ${found.sql}`)
      }
      counts.statements = trials.statements
      return { counts, faults }
    } finally {
      await close()
    }
  },
}
