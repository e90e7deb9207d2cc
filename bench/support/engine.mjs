import { pino } from 'pino'
import { EmbeddedEngine } from '../../build/core/engine/embedded-engine.js'

/** An engine by itself, in a process of its own. */
export function createEngine({ dataDir, engineNode, patience }) {
  return new EmbeddedEngine({
    dataDir,
    memoryBytes: 2 * 2 ** 30,
    patience,
    node: engineNode,
    environment: process.env,
    clock: { now: Date.now },
    log: pino({ level: 'silent' }),
  })
}
