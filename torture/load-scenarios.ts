import { clients } from './scenarios/clients.ts'
import { conditions } from './scenarios/conditions.ts'
import { fuzzHttp } from './scenarios/fuzz-http.ts'
import { fuzzLogflare } from './scenarios/fuzz-logflare.ts'
import { fuzzSql } from './scenarios/fuzz-sql.ts'
import { overload } from './scenarios/overload.ts'
import { results } from './scenarios/results.ts'
import { soak } from './scenarios/soak.ts'
import { stall } from './scenarios/stall.ts'
import { tenants } from './scenarios/tenants.ts'
import { unreadLogs } from './scenarios/unread-logs.ts'
import type { Scenario } from './support/scenario.ts'

/** Load and hostile clients. The short forms share one service; `fuzz-http` comes last because it deletes endpoints and sources. */
export const loadScenarios: readonly Scenario[] = [
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
  fuzzHttp,
]
