import { loadScenarios } from './load-scenarios.ts'
import { backup } from './scenarios/backup.ts'
import { clock } from './scenarios/clock.ts'
import { descriptors } from './scenarios/descriptors.ts'
import { diskFull } from './scenarios/disk-full.ts'
import { fsync } from './scenarios/fsync.ts'
import { functions } from './scenarios/functions.ts'
import { kill } from './scenarios/kill.ts'
import { memory } from './scenarios/memory.ts'
import { powerCut } from './scenarios/power-cut.ts'
import { readOnly } from './scenarios/read-only.ts'
import { refusedWrites } from './scenarios/refused-writes.ts'
import type { Scenario } from './support/scenario.ts'

/** `npm run torture` runs them in this order. */
export const scenarios: readonly Scenario[] = [
  kill,
  powerCut,
  diskFull,
  readOnly,
  refusedWrites,
  fsync,
  descriptors,
  memory,
  clock,
  backup,
  functions,
  ...loadScenarios,
]
