import type { OwnTable } from '../../core/catalog/own-tables.ts'
import { ownTable, rememberInserts } from '../../core/engine/tables.ts'

/** States of alerts and notifications to send. The newest row of an alert counts. A deleted one leaves a row with an empty body. */
export const alertTables: readonly OwnTable[] = [
  {
    name: '_alerts',
    title: 'alerts',
    schema: 10,
    create: (topology) =>
      ownTable(
        topology,
        '_alerts',
        "id String, sequence UInt64, at DateTime64(3, 'UTC') DEFAULT now64(3), body String",
        // Of several beats of the lease with the same number, the first counts.
        `ORDER BY id TTL toDateTime(at) + INTERVAL 7 DAY DELETE WHERE body = '' SETTINGS ${rememberInserts(topology).join(', ')}`,
        'Replacing',
      ),
    copied: {
      columns: 'id sequence body',
      // With the empty rows of what is deleted: older rows of the same id may not be merged yet.
      from: '(SELECT id, max(_alerts.sequence) AS sequence, argMax(_alerts.body, _alerts.sequence) AS body FROM _alerts GROUP BY id)',
    },
  },
]
