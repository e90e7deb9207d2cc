/** Runs the command line of a checkout. Builds what is stale and prepares the embedded engine before. */
import { buildIfStale } from './build-if-stale.mjs'
import { engineEnvironment } from './engine-environment.mjs'

await buildIfStale()
if (!process.env.WELLHEAD_CLICKHOUSE_URL) {
  // Most commands need no engine; those that do fail with an explanation.
  const engine = await engineEnvironment().catch(({ message }) => void console.error(`wellhead: ${message}`))
  Object.assign(process.env, engine)
}
await import('../dist/main.js')
