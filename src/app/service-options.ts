import type { ChildProcess } from 'node:child_process'
import type { Clock, Timers } from '../core/base/clock.ts'
import type { Log } from '../core/base/log.ts'
import type { Settings } from '../core/base/settings.ts'
import type { EndpointDefinition } from '../core/endpoints/definition/definition.ts'
import type { checkIsolation } from '../core/engine/cluster/isolation-check.ts'
import type { ConsoleFiles } from '../features/console/routes.ts'

export interface ServiceOptions {
  settings: Settings
  time: Timers
  log: Log
  /** Decides on which day usage of projects counts. By default, the wall clock. */
  usageClock?: Clock
  /** Node executable of the engine process, unless the settings name one. */
  node: string
  environment: Readonly<Record<string, string | undefined>>
  /** The engine process, if it was launched while the service was loaded. */
  launched?: ChildProcess | undefined
  /** Endpoints created at the first start; by default those of the package. */
  shipped?: readonly EndpointDefinition[]
  /** By default those of the package. */
  consoleFiles?: ConsoleFiles
  /** Says which rows of one tenant another can see on a ClickHouse server. */
  checkIsolation?: typeof checkIsolation
}
