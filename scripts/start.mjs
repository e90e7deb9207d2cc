/** `npm start`: builds what is not built, sees to an engine where the platform has none, and serves. */
import { fileURLToPath } from 'node:url'
import { buildIfStale } from './build-if-stale.mjs'
import { ensureEngine } from './ensure-engine.mjs'

await buildIfStale()
if (!process.env.WELLHEAD_CLICKHOUSE_URL) {
  const engineNode = await ensureEngine()
  if (engineNode) {
    process.env.WELLHEAD_ENGINE_NODE = engineNode
    process.env.WELLHEAD_ENGINE_PATIENCE ??= '10'
  }
}
const main = fileURLToPath(new URL('../dist/main.js', import.meta.url))
process.argv.splice(1, 1, main, 'serve')
await import('../dist/main.js')
