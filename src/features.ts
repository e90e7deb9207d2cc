import type { Feature } from './feature.ts'
import { alerts } from './features/alerts/index.ts'
import { audit } from './features/audit/index.ts'
import { backup } from './features/backup/index.ts'
import { consolePages } from './features/console/index.ts'
import { dashboards } from './features/dashboards/index.ts'
import { demo } from './features/demo/index.ts'
import { erasure } from './features/erasure/index.ts'
import { live } from './features/live/index.ts'
import { logs } from './features/logs/index.ts'
import { mcp } from './features/mcp/index.ts'
import { people } from './features/people/index.ts'
import { plans } from './features/plans/index.ts'
import { replay } from './features/replay/index.ts'
import { sessions } from './features/sessions/index.ts'
import { sources } from './features/sources/index.ts'
import { statistics } from './features/statistics/index.ts'
import { supabase } from './features/supabase/index.ts'
import { tables } from './features/tables/index.ts'

/** Every feature, in the order in which a service opens them. Each can use those before it. */
export const features: readonly Feature[] = [
  sources,
  logs,
  tables,
  live,
  statistics,
  audit,
  sessions,
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
