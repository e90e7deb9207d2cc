/**
 * One benchmark in a process of its own: what an earlier one left in the heap and in the compiler's mind would be in
 * its figures. Its result goes to the process that started it.
 */
import { judged } from './result.mjs'

process.once('message', async ({ name, engineNode, emulated, quick }) => {
  const { about, run } = await import(new URL(`../${name}.bench.mjs`, import.meta.url))
  const since = performance.now()
  const patience = emulated ? 10 : 1
  /** Sizes of a full run, of a quick one, and of those with an emulated engine, which have to come to an end too. */
  const choose = ({ full, quick: small, emulated: bounded = small, least = Math.min(small, bounded) }) => {
    if (quick) return emulated ? least : small
    return emulated ? bounded : full
  }
  let outcome
  try {
    outcome = judged(await run({ engineNode, patience, quick, emulated, choose }), emulated)
  } catch (error) {
    console.error(error)
    outcome = { failed: error.message.slice(0, 2000) }
  }
  const result = { name, about, seconds: (performance.now() - since) / 1000, tables: [], ...outcome }
  process.send(result, () => process.exit(outcome.failed === undefined ? 0 : 1))
})
