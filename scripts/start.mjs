/** `npm start`: builds what is not built, sees to an engine where the platform has none, and serves. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { buildIfStale } from './build-if-stale.mjs'
import { ensureEngine } from './ensure-engine.mjs'

buildIfStale()
const environment = { ...process.env }
if (!process.env.WELLHEAD_CLICKHOUSE_URL) {
  const engineNode = await ensureEngine()
  if (engineNode) {
    environment.WELLHEAD_ENGINE_NODE = engineNode
    environment.WELLHEAD_ENGINE_PATIENCE ??= '10'
  }
}
const main = fileURLToPath(new URL('../dist/main.js', import.meta.url))
const child = spawn(process.execPath, [main, 'serve', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: environment,
})
// A terminal's Ctrl-C reaches the service by itself; other signals are passed on.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
