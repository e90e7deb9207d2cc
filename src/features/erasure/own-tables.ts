import type { OwnTable } from '../../core/catalog/own-tables.ts'
import { ownTable } from '../../core/engine/tables.ts'

export const erasureTables: readonly OwnTable[] = [
  {
    name: '_erasures',
    title: 'erasures',
    schema: 11,
    // The row with the highest sequence counts.
    create: (topology) =>
      ownTable(
        topology,
        '_erasures',
        "id String, sequence UInt32, at DateTime64(3, 'UTC') DEFAULT now64(3), body String",
        'ORDER BY (id, sequence)',
        'Replacing',
      ),
    copied: {
      columns: 'id sequence body',
      from: '(SELECT DISTINCT id, sequence, body FROM _erasures)',
    },
  },
]
