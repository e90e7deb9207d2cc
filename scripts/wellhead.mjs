/** Runs the command line of a checkout. Builds what is stale and prepares the embedded engine before. */
import { buildIfStale } from './build-if-stale.mjs'
import { engineEnvironment, needsEngine } from './engine-environment.mjs'

await buildIfStale()
if (needsEngine(process.argv.slice(2))) {
  // The command fails with an explanation of its own.
  const engine = await engineEnvironment().catch(({ message }) => void console.error(`wellhead: ${message}`))
  Object.assign(process.env, engine)
}
await import('../dist/main.js')
