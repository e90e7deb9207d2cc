/**
 * Runs all benchmarks or those named, prints their tables, and optionally writes the figures to a file:
 * `npm run bench -- [names…] [--quick] [--json file]`. With `--seconds n`, each is stopped after that time, to see that it starts.
 */
import { fork } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { describeMachine } from '../bench/support/machine.mjs'
import { machineText, textOf } from '../bench/support/text-report.mjs'
import { engineEnvironment } from './engine-environment.mjs'
import { ensureWrk } from './ensure-program.mjs'

const directory = new URL('../bench/', import.meta.url)
/** Several times as long as the longest benchmark takes on a quiet machine. */
const limitMs = 15 * 60_000
const known = readdirSync(directory)
  .filter((file) => file.endsWith('.bench.mjs'))
  .map((file) => file.replace('.bench.mjs', ''))

const { values, positionals } = readArguments()
const names = positionals.length === 0 ? known : known.filter((name) => positionals.includes(name))
const environment = { ...process.env, ...(await engineEnvironment()) }
const engineNode = environment.WELLHEAD_ENGINE_NODE ?? process.execPath
try {
  ensureWrk()
} catch {
  // Benchmarks that need it are left out and say so.
}
const emulated = Number(environment.WELLHEAD_ENGINE_PATIENCE) > 1
const machine = describeMachine({ emulated, nowMs: Date.now() })
console.log(`${machineText(machine)}\n`)
if (emulated) {
  console.log(
    'The engine is emulated: its figures say nothing about a native engine. Data sets are smaller, and native\n' +
      'competitors (PostgreSQL, DuckDB) have an unfair advantage.\n',
  )
}
const results = []
for (const name of names) {
  console.error(`${name} …`)
  const result = await runOne(name)
  results.push(result)
  console.log(`${textOf(result)}\n`)
  // An interrupted run keeps the results so far.
  if (values.json !== undefined) {
    const run = { machine, emulated, quick: values.quick, results }
    writeFileSync(values.json, `${JSON.stringify(run, rounded, 2)}\n`)
  }
}
const minutes = results.reduce((sum, { seconds = 0 }) => sum + seconds, 0) / 60
console.log(`${results.length} benchmarks in ${minutes.toFixed(1)} minutes`)
const failed = results.filter((result) => result.failed !== undefined)
if (failed.length > 0) console.error(`Failed: ${failed.map(({ name }) => name).join(', ')}`)
process.exit(failed.length > 0 ? 1 : 0)

function readArguments() {
  try {
    const parsed = parseArgs({
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        json: { type: 'string' },
        seconds: { type: 'string' },
      },
    })
    const unknown = parsed.positionals.filter((name) => !known.includes(name))
    if (unknown.length === 0) return parsed
    throw new Error(`Unknown benchmark ${unknown.join(', ')}. Choose from ${known.join(', ')}.`)
  } catch (error) {
    console.error(`bench: ${error.message}`)
    process.exit(2)
  }
}

/** Runs in its own process, so that a benchmark that hangs or crashes does not affect the others. */
function runOne(name) {
  const file = fileURLToPath(new URL('support/run-one.mjs', directory))
  const child = fork(file, { execArgv: [] })
  return new Promise((resolve) => {
    let result = { name, about: 'did not finish', tables: [], failed: 'The process exited early.' }
    const stoppedMs = values.seconds === undefined ? undefined : 1000 * Number(values.seconds)
    const late = setTimeout(() => {
      const { failed: _, ...rest } = result
      result =
        stoppedMs === undefined
          ? { ...rest, failed: `It took longer than ${limitMs / 60_000} minutes.` }
          : { ...rest, skipped: `it was stopped after ${values.seconds} s.` }
      child.kill('SIGTERM')
      setTimeout(() => child.kill('SIGKILL'), 10_000).unref()
    }, stoppedMs ?? limitMs)
    child.once('message', (message) => {
      result = message
    })
    child.once('exit', () => {
      clearTimeout(late)
      resolve(result)
    })
    child.send({ name, engineNode, emulated, quick: values.quick })
  })
}

/** Rounds to six digits. */
function rounded(_key, value) {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value
}
