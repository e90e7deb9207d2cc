import { createLog } from '../base/log.ts'
import type { Settings } from '../base/settings.ts'
import { EmbeddedEngine } from '../engine/embedded-engine.ts'
import type { CommandIo } from './command-io.ts'

/** A silent engine with the service's settings, for commands that run without a service. */
export function offlineEngine(
  settings: Settings,
  io: CommandIo,
  options: { dataDir: string; atRest?: boolean; grants?: readonly string[] },
): EmbeddedEngine {
  return new EmbeddedEngine({
    memoryBytes: settings.engineMemory,
    patience: settings.engineTimeoutFactor,
    node: settings.engineNode ?? io.node,
    environment: io.environment,
    clock: io.clock,
    log: createLog('silent'),
    ...options,
  })
}
