import type { Author } from '../base/author.ts'
import { type Dashboards, dashboardKind } from '../dashboards/dashboard-kind.ts'
import { Definitions } from '../definitions/definitions.ts'
import type { Kind } from '../definitions/kind.ts'
import { endpointKind, readersOf } from '../endpoints/manage/endpoint-kind.ts'
import type { SavedEndpoint } from '../endpoints/manage/endpoints.ts'
import { sourceKind } from '../sources/source-kind.ts'
import { readsColumn } from '../sql/column-readers.ts'
import type { EndpointParts } from './create-endpoints.ts'
import type { Storage } from './create-storage.ts'
import type { ServiceOptions } from './service-options.ts'

/** All kinds of definitions, in the order of references, and what uses what. */
export function createDefinitions(
  { time }: ServiceOptions,
  { engine, catalog, sources }: Storage,
  { endpoints, readable, warningsOf }: EndpointParts,
  alerts: Kind,
  dashboards: { saved: Dashboards; removed: (id: string, by: Author) => Promise<void> },
  nameOf: (id: string) => string | null,
): Definitions {
  const shared = { engine, catalog, sources: readable }
  return new Definitions({
    catalog,
    clock: time.wall,
    nameOf,
    kinds: [
      sourceKind({
        engine,
        sources,
        usersOf: async (source, next) =>
          (await readersOf(shared, source, next)).map((name) => `endpoints/${name}`),
        readersOf: (source, column, next) =>
          next
            .list<SavedEndpoint>('endpoints')
            .flatMap(({ name, definition }) => (readsColumn(definition.query, source, column) ? name : [])),
      }),
      endpointKind({ ...shared, endpoints, warningsOf }),
      alerts,
      dashboardKind(dashboards.saved, endpoints, dashboards.removed),
    ],
  })
}
