/** `npm start`: builds what is stale, prepares the embedded engine, and serves. */
import { fileURLToPath } from 'node:url'
import { buildIfStale } from './build-if-stale.mjs'
import { engineEnvironment } from './engine-environment.mjs'

await buildIfStale()
if (!process.env.WELLHEAD_CLICKHOUSE_URL) {
  Object.assign(process.env, { ...(await engineEnvironment()), ...process.env })
}
const main = fileURLToPath(new URL('../dist/main.js', import.meta.url))
process.argv.splice(1, 1, main, 'serve')
await import('../dist/main.js')
