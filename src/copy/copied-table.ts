import type { Source } from '../catalog/source.ts'
import { dropDay, emptyOwnTable } from '../catalog/tables.ts'
import type { Topology } from '../cluster/topology.ts'
import { sqlText } from '../sql/names.ts'

/** A table whose rows are copied part by part. */
export interface CopiedTable {
  name: string
  /** For people. */
  title: string
  /** The rows to compare: the table, or a subquery. */
  from: string
  columns: readonly string[]
  /** Rows that will not expire before the parameter `until`. */
  kept: string
  /** Expression for the part of a row. */
  part: string
  isIn: (part: string) => string
  clear: (part: string, topology: Topology) => string[]
}

function keptFor(column: string, days: number): string {
  return `toDateTime(${column}) + INTERVAL ${days} DAY > toDateTime({until:UInt32})`
}

/** The entries of a source; a part is a day, as in the table. */
export function entriesOf({ name, retention_days: days }: Source): CopiedTable {
  return {
    name,
    title: name,
    from: `\`${name}\``,
    columns: ['project', 'timestamp', 'id', 'event_message', 'metadata'],
    kept: keptFor('timestamp', days),
    part: 'toString(toDate(timestamp))',
    isIn: (day) => `toDate(timestamp) = toDate(${sqlText(day)})`,
    clear: (day, topology) => dropDay(name, day, topology),
  }
}

const wholeTable = (name: string) => ({
  name,
  part: "''",
  isIn: () => 'true',
  clear: (_part: string, topology: Topology) => emptyOwnTable(name, topology),
})

/** Copied last, because it makes the copy an installation. */
export const catalogTable: CopiedTable = {
  ...wholeTable('_catalog'),
  title: 'catalog',
  from: '_catalog',
  columns: ['entry', 'kind', 'id', 'version', 'changed_at', 'changed_by', 'deleted', 'body', 'position'],
  kept: 'true',
}

/** Internal tables, except the catalog. */
export const ownTables: readonly CopiedTable[] = [
  {
    ...wholeTable('_idempotency'),
    title: 'idempotency keys',
    from: '_idempotency',
    columns: ['key', 'at', 'answer'],
    kept: keptFor('at', 1),
  },
  {
    ...wholeTable('_token_uses'),
    title: 'token uses',
    // Older uses of a token disappear when parts are merged.
    from: '(SELECT id, max(at) AS at FROM _token_uses GROUP BY id)',
    columns: ['id', 'at'],
    kept: keptFor('at', 400),
  },
  {
    ...wholeTable('_alerts'),
    title: 'alerts',
    from: '(SELECT id, max(_alerts.sequence) AS sequence, argMax(_alerts.body, _alerts.sequence) AS body FROM _alerts GROUP BY id)',
    columns: ['id', 'sequence', 'body'],
    kept: "body != ''",
  },
]
