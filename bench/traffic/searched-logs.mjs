/** Fills a source with entries of an API as pino writes them. The engine makes them, because a million takes long to send. */
import { command } from '../support/measured-tables.mjs'

/** A word that 1 in 100,000 entries has. */
export const rareWord = 'ECONNREFUSED'

const text = (sql) => `toString(${sql})`
const metadata = [
  `'{"level":', ${text('[30, 30, 30, 40, 50][1 + rand(1) % 5]')}`,
  `',"hostname":"api-', ${text('rand(2) % 12')}`,
  `'","reqId":"', ${text('generateUUIDv4()')}`,
  `'","req":{"method":"', ['GET', 'POST', 'PUT'][1 + rand(3) % 3]`,
  `'","url":"/v1/orders/', ${text('rand(4) % 1000000')}`,
  `'","headers":{"user-agent":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"}},"customer":{"id":"cus_', ${text('1000 + rand(5) % 300')}`,
  `'","plan":"', ['free', 'pro', 'team'][1 + rand(6) % 3]`,
  `'"},"res":{"statusCode":', ${text('[200, 201, 404, 500][1 + rand(7) % 4]')}`,
  `'},"version":"2.1', ${text('rand(8) % 4')}`,
  `'.0","responseTime":', ${text('rand(9) % 1000')}`,
  `if(number % 100000 = 77, ',"err":{"type":"Error","message":"connect ${rareWord} 10.0.0.7:5432"}', '')`,
  `'}'`,
]

/** Entries of the last 20 hours, in one part for each day. */
export async function fillSource(engine, table, entries) {
  const step = Math.floor((20 * 3_600_000_000) / entries)
  await command(
    engine,
    `INSERT INTO ${table} (project, id, timestamp, event_message, metadata) SELECT concat('p', toString(rand(10) % 300)), ` +
      `toString(generateUUIDv4()), now64(6, 'UTC') - toIntervalMicrosecond(number * ${step}), 'request completed', ` +
      `concat(${metadata.join(', ')}) FROM numbers(${entries}) SETTINGS materialize_skip_indexes_on_insert = 0`,
  )
}
