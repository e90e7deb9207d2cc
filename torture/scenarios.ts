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

/** Scenarios by the file that runs their short forms in `npm test`, in its order. Those of a file share a service. */
export const scenariosByTest: Readonly<Record<string, readonly Scenario[]>> = {
  // Faults that could lose acknowledged entries.
  'test/journeys/operating/torture-disks.test.ts': [
    kill,
    deployments,
    erasures,
    powerCut,
    diskFull,
    refusedWrites,
    fsync,
    readOnly,
    memory,
    descriptors,
    backup,
  ],
  // SQL and searches.
  'test/journeys/operating/torture-load.test.ts': [functions, conditions, fuzzSql, fuzzLogflare, studio],
  // Clients, and load that comes from many of them.
  'test/journeys/operating/torture-clients.test.ts': [
    clock,
    unreadLogs,
    tenants,
    soak,
    overload,
    stall,
    results,
    clients,
    // Deletes endpoints and sources.
    fuzzHttp,
  ],
}

/** `npm run torture` runs them in this order. */
export const scenarios = Object.values(scenariosByTest).flat()
