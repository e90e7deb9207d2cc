import { backup } from './backup.ts'
import { clock } from './clock.ts'
import { descriptors } from './descriptors.ts'
import { diskFull } from './disk-full.ts'
import { fsync } from './fsync.ts'
import { functions } from './functions.ts'
import { kill } from './kill.ts'
import { loadScenarios } from './load-scenarios.ts'
import { memory } from './memory.ts'
import { powerCut } from './power-cut.ts'
import { readOnly } from './read-only.ts'
import { refusedWrites } from './refused-writes.ts'
import type { Scenario } from './support/scenario.ts'

/** In the order in which `npm run torture` runs them. */
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
