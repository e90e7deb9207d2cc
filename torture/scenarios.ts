import { backup } from './scenarios/backup.ts'
import { clients } from './scenarios/clients.ts'
import { clock } from './scenarios/clock.ts'
import { conditions } from './scenarios/conditions.ts'
import { deployments } from './scenarios/deployments.ts'
import { descriptors } from './scenarios/descriptors.ts'
import { diskFull, fsync, readOnly, refusedWrites } from './scenarios/disk-faults.ts'
import { erasures } from './scenarios/erasures.ts'
import { functions } from './scenarios/functions.ts'
import { fuzzHttp } from './scenarios/fuzz/http.ts'
import { fuzzLogflare } from './scenarios/fuzz/logflare.ts'
import { fuzzSql } from './scenarios/fuzz/sql.ts'
import { kill } from './scenarios/kill.ts'
import { memory } from './scenarios/memory.ts'
import { overload } from './scenarios/overload.ts'
import { powerCut } from './scenarios/power-cut.ts'
import { results } from './scenarios/results.ts'
import { soak } from './scenarios/soak.ts'
import { stall } from './scenarios/stall.ts'
import { studio } from './scenarios/studio.ts'
import { tenants } from './scenarios/tenants.ts'
import { unreadLogs } from './scenarios/unread-logs.ts'
import type { Scenario } from './support/scenario.ts'

/** `npm run torture` runs them in this order. */
export const scenarios: readonly Scenario[] = [
  kill,
  deployments,
  erasures,
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
  tenants,
  soak,
  overload,
  stall,
  unreadLogs,
  results,
  conditions,
  clients,
  fuzzSql,
  fuzzLogflare,
  studio,
  // Deletes endpoints and sources.
  fuzzHttp,
]
