import type { Source } from '../catalog/source.ts'
import { dropDay, emptyOwnTable } from '../catalog/tables.ts'
import type { Topology } from '../cluster/topology.ts'
import { sqlText } from '../sql/names.ts'

interface KeyColumn {
  name: string
  /** The value of a parameter that has the bytes of the value as hexadecimal digits. */
  fromHex: (parameter: string) => string
}

/** A table whose rows are copied part by part. */
export interface CopiedTable {
  name: string
  /** For people. */
  title: string
  /** The table, or a subquery. */
  from: string
  columns: readonly string[]
  /** The first columns, by which the table is sorted. */
  key: readonly KeyColumn[]
  /** Rows that will not expire before the parameter `until`. */
  kept: string
  /** Expression for the part of a row. */
  part: string
  isIn: (part: string) => string
  clear: (part: string, topology: Topology) => string[]
}

const text = (name: string): KeyColumn => ({ name, fromHex: (parameter) => `unhex(${parameter})` })

const time = (name: string): KeyColumn => ({
  name,
  fromHex: (parameter) => `toDateTime64(unhex(${parameter}), 6, 'UTC')`,
})

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
    key: [text('project'), time('timestamp'), text('id')],
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

/** Internal tables, except the catalog. */
export const ownTables: readonly CopiedTable[] = [
  {
    ...wholeTable('_idempotency'),
    title: 'idempotency keys',
    from: '_idempotency',
    columns: ['key', 'at', 'answer'],
    key: [text('key')],
    kept: keptFor('at', 1),
  },
  {
    ...wholeTable('_token_uses'),
    title: 'token uses',
    // Older uses of a token disappear when parts are merged.
    from: '(SELECT id, max(at) AS at FROM _token_uses GROUP BY id)',
    columns: ['id', 'at'],
    key: [text('id')],
    kept: keptFor('at', 400),
  },
]
