import { isSandboxFunction } from '../../src/sql/functions.ts'
import { many, openEmbedded } from '../../test/support/engines.ts'
import { FunctionTrials } from '../fuzz/function-trials.ts'
import type { Scenario } from '../support/scenario.ts'

/** Every function that a sandbox allows stops at the deadline, however large its arguments are. */
export const functions: Scenario = {
  name: 'functions',
  title: 'no function that a sandbox allows runs on past its time limit and takes the engine with it',
  async run(run) {
    const { engine, close } = await openEmbedded({ patience: many(1, 10), crashesBeforeRefusal: 1e9 })
    try {
      const trials = new FunctionTrials(engine, {
        maxSize: run.cycles(1_000_000, 10_000),
        deadlineMs: 1_000,
        say: run.say,
      })
      // In an order of the seed's, so that runs that are too short for all of them differ in what they try.
      const names = (await trials.functions())
        .filter(({ name }) => isSandboxFunction(name) && (run.match?.test(name) ?? true))
        .map((each) => ({ ...each, place: run.random() }))
        .sort((one, other) => one.place - other.place)
      const counts = {
        functions: names.length,
        'without arguments that work': 0,
        'not tried': 0,
        statements: 0,
      }
      const faults: string[] = []
      for (const [index, each] of names.entries()) {
        if (performance.now() > run.until) {
          counts['not tried'] = names.length - index
          run.say(`the time is over at ${each.name}; --minutes sets it`)
          break
        }
        const found = await trials.try(each)
        if (found.kind === 'no arguments') counts['without arguments that work']++
        if (found.kind === 'runs on') faults.push(`${each.name} runs on past its limit: ${found.sql}`)
      }
      counts.statements = trials.statements
      return { counts, faults }
    } finally {
      await close()
    }
  },
}
