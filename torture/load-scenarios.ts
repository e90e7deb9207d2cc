import { clients } from './scenarios/clients.ts'
import { fuzzHttp } from './scenarios/fuzz-http.ts'
import { fuzzSql } from './scenarios/fuzz-sql.ts'
import { overload } from './scenarios/overload.ts'
import { soak } from './scenarios/soak.ts'
import { stall } from './scenarios/stall.ts'
import { tenants } from './scenarios/tenants.ts'
import type { Scenario } from './support/scenario.ts'

/** Those of load and of hostile callers. In short they share one service, which the last of them leaves in pieces. */
export const loadScenarios: readonly Scenario[] = [tenants, soak, overload, stall, clients, fuzzSql, fuzzHttp]
