import { kill } from './kill.ts'
import type { Scenario } from './support/scenario.ts'

/** In the order in which `npm run torture` runs them. */
export const scenarios: readonly Scenario[] = [kill]
