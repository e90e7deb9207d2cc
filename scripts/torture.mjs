/**
 * Runs the long form of all scenarios in `torture/`, or of those named, and prints a table:
 * `npm run torture -- [names…] [--minutes 5] [--seed 7] [--cycles 200] [--match regexp] [--json file] [--list]`.
 * `npm run torture -- journeys` runs the long form of the journeys of `npm test` instead.
 */
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, release, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { engineEnvironment } from './engine-environment.mjs'
import { ensureFaketime } from './ensure-program.mjs'
import { resultTable } from './support/torture-table.mjs'

const { values, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string', default: `${randomInt(2 ** 31)}` },
    cycles: { type: 'string' },
    match: { type: 'string' },
    json: { type: 'string' },
    list: { type: 'boolean', default: false },
  },
})
for (const name of ['minutes', 'seed', 'cycles']) {
  const value = values[name]
  const pattern = name === 'minutes' ? /^\d{1,6}(?:\.\d{1,3})?$/ : /^\d{1,10}$/
  if (value === undefined || (pattern.test(value) && (name === 'seed' || Number(value) > 0))) continue
  console.error(`torture: --${name} must be a number, not "${value}".`)
  process.exit(2)
}
const root = fileURLToPath(new URL('..', import.meta.url))
if (names.length === 1 && names[0] === 'journeys') {
  const tests = spawn(process.execPath, [join(root, 'scripts/test.mjs'), 'test/'], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, WELLHEAD_TEST_LONG: '1' },
  })
  process.exit(await new Promise((resolve) => tests.on('exit', (code) => resolve(code ?? 1))))
}
const scratch = mkdtempSync(join(tmpdir(), 'wellhead-torture-'))
const results = join(scratch, 'results')
const order = {
  names,
  list: values.list,
  seed: Number(values.seed),
  minutes: Number(values.minutes),
  ...(values.cycles !== undefined && { cycles: Number(values.cycles) }),
  ...(values.match !== undefined && { match: values.match }),
  results,
}
const engine = values.list ? {} : await engineEnvironment()
const environment = { ...process.env, ...engine, TORTURE_ORDER: JSON.stringify(order) }
const setsClocks = !values.list && (names.length === 0 || names.includes('clock'))
const faketime = setsClocks ? ensureFaketime() : undefined
if (faketime) environment.FAKETIME_LIBRARY = faketime
const emulated = engine.WELLHEAD_ENGINE_NODE !== undefined
if (emulated) console.log('The engine is emulated: its times say nothing about a native engine.\n')
const vitest = join(root, 'node_modules/vitest/vitest.mjs')
const child = spawn(process.execPath, [vitest, 'run', '--config', 'torture/vitest.config.ts'], {
  cwd: root,
  stdio: 'inherit',
  env: environment,
})
const code = await new Promise((resolve) => child.on('exit', resolve))
const scenarios = (existsSync(results) ? readFileSync(results, 'utf8') : '')
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line))
rmSync(scratch, { recursive: true, force: true })
if (!values.list && scenarios.length > 0) {
  console.log(`\n${resultTable(scenarios)}`)
  const [cpu] = cpus()
  const machine = `${cpus().length} × ${cpu?.model ?? process.arch}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}`
  const report = {
    date: new Date().toISOString(),
    machine,
    node: process.version,
    engine: emulated ? 'emulated' : 'native',
    ...order,
    results: undefined,
    list: undefined,
    scenarios,
  }
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, undefined, 2)}\n`)
}
process.exit(code !== 0 || scenarios.some(({ faults }) => faults.length > 0) ? 1 : 0)
