import { alerts } from './alerts/alert-kind.ts'
import { dashboards } from './dashboards/dashboard-kind.ts'
import { endpoints } from './endpoints/manage/endpoint-kind.ts'
import { plans } from './projects/plan-kind.ts'
import { sources } from './sources/source-kind.ts'
import { tables } from './tables/table-kind.ts'

/** Every kind of definitions, in the order of references: a kind refers to those before it. */
export const kinds = [sources, tables, endpoints, alerts, dashboards, plans] as const
