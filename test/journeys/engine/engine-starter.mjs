/** Starts another program in place of the engine process, the first time ahead, and ends after three starts. */
import { EngineProcess } from '../../../build/engine/engine-process.js'
import { launchHost } from '../../../build/engine/launch-host.js'

const [, , executable] = process.argv
const launch = { node: executable, environment: process.env, sessions: 8 }
const quiet = { info: () => {}, error: () => {} }
const supervised = new EngineProcess({
  ...launch,
  host: { sessions: launch.sessions },
  launched: launchHost(launch),
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
