import { endpoints } from './core/endpoints/manage/endpoint-kind.ts'
import { alerts } from './features/alerts/alert-kind.ts'
import { dashboards } from './features/dashboards/dashboard-kind.ts'
import { plans } from './features/plans/plan-kind.ts'
import { sources } from './features/sources/source-kind.ts'
import { tables } from './features/tables/table-kind.ts'

/** Every kind of definitions, in the order of references: a kind refers to those before it. */
export const kinds = [sources, tables, endpoints, alerts, dashboards, plans] as const
