/** Runs the crash journey for as many kills as asked: `npm run torture -- --cycles 200`. It takes its time. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { cycles: { type: 'string', default: '200' } } })
if (!/^[1-9]\d*$/.test(values.cycles)) {
  console.error(`torture: --cycles must be a whole number; "${values.cycles}" was given.`)
  process.exit(2)
}
const test = fileURLToPath(new URL('./test.mjs', import.meta.url))
const { status } = spawnSync(process.execPath, [test, 'test/crash.test.ts'], {
  stdio: 'inherit',
  env: { ...process.env, TORTURE_CYCLES: values.cycles },
})
process.exit(status ?? 1)
