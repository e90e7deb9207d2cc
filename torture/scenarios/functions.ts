import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { isSandboxFunction } from '../../src/core/sql/functions.ts'
import { openEmbedded } from '../../test/support/engines.ts'
import { FunctionTrials } from '../fuzz/function-trials.ts'
import type { Scenario } from '../support/scenario.ts'

/** Functions without a known fault. The short form tries all others, and reports them. */
const listFile = 'torture/checked-functions.txt'

/** A function that is only linear ends within this multiple of the time that callers get. */
const patience = 10

export const functions: Scenario = {
  name: 'functions',
  title: 'every function that a sandbox allows stops at its time limit, without ending the engine',
  async run(run) {
    const checked = new Set(readFileSync(listFile, 'utf8').trim().split(/\s+/))
    const counts = { functions: 0, 'without working arguments': 0, 'stopped late': 0, statements: 0 }
    const faults: string[] = []
    const openTrials = async () => {
      const { engine, close } = await openEmbedded({ patience })
      const maxSize = run.cycles(1_000_000, 1_000_000)
      return { trials: new FunctionTrials(engine, { maxSize, deadlineMs: 250, say: run.say }), close }
    }
    const first = await openTrials()
    try {
      const allowed = (await first.trials.functions()).filter(({ name }) => isSandboxFunction(name))
      const unchecked = allowed.filter(({ name }) => !checked.has(name))
      const isShort = run.size(0, 1) === 1
      // The seed sets the order, so that a run that is interrupted has tried different functions.
      const chosen = (isShort ? unchecked : allowed)
        .filter(({ name }) => run.match?.test(name) ?? true)
        .map((each) => ({ ...each, place: run.random() }))
        .sort((one, other) => one.place - other.place)
      counts.functions = chosen.length
      for (const { name } of isShort ? unchecked : []) {
        const command = `npm run torture -- functions --match '^${name}$'`
        faults.push(`${name} is not in ${listFile}: run "${command}", then add it`)
      }
      const queue = [...chosen]
      const tryAll = async (trials: FunctionTrials) => {
        for (let each = queue.shift(); each; each = queue.shift()) {
          const found = await trials.try(each)
          if (found.kind === 'no arguments') counts['without working arguments']++
          if (found.kind === 'ignores limit') faults.push(`${each.name} ignores its time limit: ${found.sql}`)
          const done = chosen.length - queue.length
          if (done % 20 === 0) run.say(`${done} of ${chosen.length} functions`)
        }
        counts.statements += trials.statements
        counts['stopped late'] += trials.late
      }
      // An engine for each, so that the function that ended one is known.
      const others = Array.from(
        { length: Math.max(0, Math.min(availableParallelism(), queue.length) - 1) },
        async () => {
          const { trials, close } = await openTrials()
          await tryAll(trials).finally(close)
        },
      )
      await Promise.all([tryAll(first.trials), ...others])
      return { counts, faults }
    } finally {
      await first.close()
    }
  },
}
