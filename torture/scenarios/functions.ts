import { readFileSync } from 'node:fs'
import { isSandboxFunction } from '../../src/sql/functions.ts'
import { openEmbedded } from '../../test/support/engines.ts'
import { FunctionTrials } from '../fuzz/function-trials.ts'
import type { Scenario } from '../support/scenario.ts'

/** Functions without a known fault. The short form tries all others, and reports them. */
const listFile = 'torture/checked-functions.txt'

export const functions: Scenario = {
  name: 'functions',
  title: 'every function that a sandbox allows stops at its time limit, without ending the engine',
  async run(run) {
    const checked = new Set(readFileSync(listFile, 'utf8').trim().split(/\s+/))
    // A function that is only linear ends within this time, which is ten times what callers get.
    const { engine, close } = await openEmbedded({ patience: 10 })
    try {
      const trials = new FunctionTrials(engine, {
        maxSize: run.cycles(1_000_000, 1_000_000),
        deadlineMs: 250,
        say: run.say,
      })
      const allowed = (await trials.functions()).filter(({ name }) => isSandboxFunction(name))
      const unchecked = allowed.filter(({ name }) => !checked.has(name))
      const isShort = run.size(0, 1) === 1
      // The seed sets the order, so that runs with little time try different functions.
      const names = (isShort ? unchecked : allowed)
        .filter(({ name }) => run.match?.test(name) ?? true)
        .map((each) => ({ ...each, place: run.random() }))
        .sort((one, other) => one.place - other.place)
      const counts = {
        functions: names.length,
        'without working arguments': 0,
        'not tried': 0,
        statements: 0,
      }
      const faults = (isShort ? unchecked : []).map(
        ({ name }) =>
          `${name} is not in ${listFile}: run "npm run torture -- functions --match '^${name}$'", then add it`,
      )
      for (const [index, each] of names.entries()) {
        if (!isShort && performance.now() > run.until) {
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
