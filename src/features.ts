import type { Feature } from './feature.ts'
import { alerts } from './features/alerts/feature.ts'
import { audit } from './features/audit/feature.ts'
import { backup } from './features/backup/feature.ts'
import { consolePages } from './features/console/feature.ts'
import { dashboards } from './features/dashboards/feature.ts'
import { demo } from './features/demo/feature.ts'
import { erasure } from './features/erasure/feature.ts'
import { live } from './features/live/feature.ts'
import { logs } from './features/logs/feature.ts'
import { mcp } from './features/mcp/feature.ts'
import { people } from './features/people/feature.ts'
import { plans } from './features/plans/feature.ts'
import { replay } from './features/replay/feature.ts'
import { sources } from './features/sources/feature.ts'
import { statistics } from './features/statistics/feature.ts'
import { supabase } from './features/supabase/feature.ts'
import { tables } from './features/tables/feature.ts'

/** Every feature, in the order in which a service opens them. Each can use those before it. */
export const features: readonly Feature[] = [
  sources,
  logs,
  tables,
  live,
  statistics,
  audit,
  alerts,
  dashboards,
  plans,
  erasure,
  people,
  backup,
  replay,
  mcp,
  supabase,
  demo,
  consolePages,
]
