/** Starts another program in place of the engine process, and ends after three starts. */
import { EngineProcess } from '../../../build/engine/engine-process.js'

const [, , executable] = process.argv
const quiet = { info: () => {}, error: () => {} }
const supervised = new EngineProcess({
  node: executable,
  environment: process.env,
  host: { sessions: 8 },
  log: quiet,
  patience: 1,
  backoffMs: [0, 0, 24 * 3_600_000],
  onCrash: () => {},
})
supervised.start().catch(() => {})
setInterval(() => {
  if (supervised.state().restarts < 3) return
  console.log(JSON.stringify(supervised.state()))
  process.exit(0)
}, 10)
