import { builtInSources } from '../../build/built-in-sources.js'
import { singleServer } from '../../build/core/engine/cluster/topology.js'
import { createSourceTable } from '../../build/core/engine/tables.js'

/** Merges of the larger tables take their time. */
const limits = { deadlineMs: 3_600_000 }

export const command = (engine, sql) => engine.command({ sql }, limits)

export async function readRows(engine, sql, parameters = {}) {
  const { body } = await engine.query({ sql, parameters, format: 'JSONEachRow' }, limits)
  return body
    .toString()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

/** A table with the columns, the codecs and the settings of the edge source. */
export async function createEdgeTable(engine, name) {
  const edge = builtInSources.find((source) => source.name === 'edge_logs')
  const { database } = engine
  for (const sql of createSourceTable({ ...edge, name }, singleServer(database))) await command(engine, sql)
  return `${database}.${name}`
}

export async function partsOf(engine, table) {
  const [name, source] = table.split('.')
  const [found] = await readRows(
    engine,
    'SELECT toFloat64(count()) AS parts, toFloat64(uniqExact(partition)) AS days, sum(toFloat64(rows)) AS rows, sum(toFloat64(bytes_on_disk)) AS bytes, ' +
      // Blocks are counted up, so the number of the last is that of all that were written, merged or not.
      'toFloat64(max(max_block_number)) AS last_block ' +
      'FROM system.parts WHERE active AND database = {name:String} AND table = {source:String}',
    { name, source },
  )
  return found
}
