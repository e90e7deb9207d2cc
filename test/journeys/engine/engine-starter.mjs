/** Starts another program in place of the engine process, the first time ahead, and ends after three starts. */
import { EngineProcess } from '../../../build/core/engine/embedded/engine-process.js'
import { launchHost } from '../../../build/core/engine/embedded/launch-host.js'

const [, , executable] = process.argv
const launch = { node: executable, environment: process.env }
const quiet = { info: () => {}, error: () => {} }
const supervised = new EngineProcess({
  ...launch,
  host: {},
  launched: launchHost(launch.node, launch.environment),
  log: quiet,
  patience: 1,
  connect: async () => '',
  ping: async () => {},
  isBusy: () => false,
  onChange: (state) => {
    if (state.restarts < 3) return
    console.log(JSON.stringify(state))
    process.exit(0)
  },
  onCrash: () => {},
})
supervised.start()
