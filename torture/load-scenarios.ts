import { clients } from './clients.ts'
import { fuzzHttp } from './fuzz-http.ts'
import { fuzzSql } from './fuzz-sql.ts'
import { overload } from './overload.ts'
import { soak } from './soak.ts'
import { stall } from './stall.ts'
import type { Scenario } from './support/scenario.ts'
import { tenants } from './tenants.ts'

/** Those of load and of hostile callers. In short they share one service, which the last of them leaves in pieces. */
export const loadScenarios: readonly Scenario[] = [tenants, soak, overload, stall, clients, fuzzSql, fuzzHttp]
