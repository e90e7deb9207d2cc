import { alertNotFound } from '../base/errors.ts'
import { closestName } from '../base/text/closest-name.ts'
import { type Catalog, readBody } from '../catalog/catalog.ts'
import type { CatalogRecord } from '../catalog/catalog-replay.ts'
import { resultKey, ruleOf, type StoredAlert, storedAlertShape } from './alert.ts'
import { type Condition, parseCondition } from './condition.ts'

/** An alert of the catalog. */
export interface SavedAlert extends StoredAlert {
  readonly id: string
  readonly version: number
  readonly deleted: boolean
  readonly condition: Condition
  readonly rule: string
  readonly resultKey: string
  readonly updatedAt: string
  readonly updatedBy: string
}

/** The alerts of the catalog, by id and by name. */
export class SavedAlerts {
  readonly #catalog: Catalog
  readonly #byId = new Map<string, SavedAlert>()
  #onChange: (changed: readonly SavedAlert[]) => void = () => {}

  constructor(catalog: Catalog) {
    this.#catalog = catalog
    catalog.onChange('alert', (changed) => this.#take(changed))
  }

  /** The listener gets every alert that changes, also deleted ones. */
  onChange(listener: (changed: readonly SavedAlert[]) => void): void {
    this.#onChange = listener
  }

  /** By name. */
  list(): SavedAlert[] {
    return [...this.#byId.values()].sort((one, other) =>
      one.definition.name < other.definition.name ? -1 : 1,
    )
  }

  find(reference: string): SavedAlert | undefined {
    return (
      this.list().find(({ definition }) => definition.name === reference) ??
      this.#byId.get(reference.toLowerCase())
    )
  }

  findById(id: string): SavedAlert | undefined {
    return this.#byId.get(id)
  }

  /** The newest version, also of a deleted alert. */
  last(id: string): SavedAlert | undefined {
    const record = this.#catalog.history('alert', id).at(-1)
    return record && read(record)
  }

  get(reference: string): SavedAlert {
    const alert = this.find(reference)
    if (alert) return alert
    const names = this.list().map(({ definition }) => definition.name)
    throw alertNotFound(reference, closestName(reference, names))
  }

  /** Every version, newest first. */
  versions(reference: string): SavedAlert[] {
    return this.#catalog.history('alert', this.get(reference).id).map(read).reverse()
  }

  #take(changed: readonly CatalogRecord[]): void {
    const alerts = changed.map(read)
    for (const alert of alerts) {
      if (alert.deleted) this.#byId.delete(alert.id)
      else this.#byId.set(alert.id, alert)
    }
    this.#onChange(alerts)
  }
}

function read(record: CatalogRecord): SavedAlert {
  const stored = readBody(record, storedAlertShape)
  const condition = parseCondition(stored.definition.when)
  if (!condition) throw new Error(`The catalog is damaged: alert ${record.id} has no condition.`)
  return {
    ...stored,
    id: record.id,
    version: record.version,
    deleted: record.deleted,
    condition,
    rule: ruleOf(stored),
    resultKey: resultKey(stored),
    updatedAt: record.changed_at,
    updatedBy: record.changed_by,
  }
}
