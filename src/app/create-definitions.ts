import type { Author } from '../base/author.ts'
import { Definitions } from '../definitions/definitions.ts'
import { kinds } from '../kinds.ts'
import type { AccessParts } from './create-access.ts'
import type { Alerts } from './create-alerts.ts'
import type { EndpointParts } from './create-endpoints.ts'
import type { Storage } from './create-storage.ts'
import type { ServiceOptions } from './service-options.ts'

/** All kinds of definitions, each with the parts of the service that it needs. */
export function createDefinitions(
  { time }: ServiceOptions,
  storage: Storage,
  { readable, warningsOf }: EndpointParts,
  { alertParts, evaluator }: Alerts,
  { links, nameOf }: AccessParts,
): Definitions {
  const { catalog, tables, projects } = storage
  const parts = {
    ...{ ...storage, readable, warningsOf, alertParts, evaluator },
    tableColumns: tables,
    plans: projects.definitions,
    projectPlans: projects.plans,
    endLinks: (dashboard: string, by: Author) => links.deleteOf(dashboard, by),
  }
  return new Definitions({
    catalog,
    clock: time.wall,
    nameOf,
    kinds: kinds.map((kind) => ({ ...kind, ...kind.open(parts) })),
  })
}
