import { jsonRowSql } from '../engine/json-rows.ts'

/** An entry as the text of a JSON object, with its metadata as it was sent. */
export const entryRow = jsonRowSql([
  { name: 'id', sql: 'id' },
  { name: 'timestamp', sql: 'toUnixTimestamp64Micro(timestamp)' },
  { name: 'project', sql: 'project' },
  { name: 'event_message', sql: 'event_message' },
  { name: 'metadata', sql: 'metadata', isJson: true },
])
