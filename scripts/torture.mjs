/**
 * Runs the crash journey for as many kills as asked: `npm run torture -- --cycles 200`. It takes its time. It
 * prints its seed; `--seed` brings the same moments again.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: { cycles: { type: 'string', default: '200' }, seed: { type: 'string' } },
})
for (const [name, value] of Object.entries(values)) {
  if (/^\d{1,10}$/.test(value) && (name === 'seed' || Number(value) > 0)) continue
  console.error(`torture: --${name} must be a whole number; "${value}" was given.`)
  process.exit(2)
}
const test = fileURLToPath(new URL('./test.mjs', import.meta.url))
const environment = { ...process.env, TORTURE_CYCLES: values.cycles }
if (values.seed !== undefined) environment.TORTURE_SEED = values.seed
const { status } = spawnSync(process.execPath, [test, 'test/crash.test.ts'], {
  stdio: 'inherit',
  env: environment,
})
process.exit(status ?? 1)
