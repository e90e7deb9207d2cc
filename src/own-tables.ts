import { coreTables, type OwnTable } from './core/catalog/own-tables.ts'
import type { Feature } from './feature.ts'

/** The tables of core and of features, beside those with entries. */
export async function ownTablesOf(features: readonly Feature[]): Promise<OwnTable[]> {
  const tables = [...coreTables]
  for (const feature of features) {
    for (const table of (await feature.tables?.()) ?? []) {
      if (tables.some(({ name }) => name === table.name))
        throw new Error(`${feature.name}: There are two tables with the name ${table.name}.`)
      tables.push(table)
    }
  }
  return tables
}
