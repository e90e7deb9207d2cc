/**
 * Builds what is stale, runs all tests, or those named, and prints the slowest files and, in the last line, the counts.
 * With `--check`, runs what `npm run check` does beyond a test, beside the tests; a failed check counts as a failed test.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { constants, setPriority, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildIfStale } from './build-if-stale.mjs'
import { engineEnvironment } from './engine-environment.mjs'
import { ensureChromium, ensureFaketime, ensureNginx } from './ensure-program.mjs'
import { ensurePromtool } from './ensure-promtool.mjs'
import { memoryScratch } from './support/memory-scratch.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url))
const shownFiles = 10

const given = process.argv.slice(2).filter((argument) => argument !== '--check')
const checks = process.argv.includes('--check')
await buildIfStale()
const check = checks ? startCheck() : undefined

const temporary = process.env.TMPDIR || memoryScratch() || tmpdir()
const scratch = mkdtempSync(join(temporary, 'wellhead-test-'))
const report = join(scratch, 'report.json')
// Node reads these certificates at each start, for 50 ms, and tests connect to this machine only; npm gets them back.
const { NODE_EXTRA_CA_CERTS: authorities, ...inherited } = process.env
const environment = {
  // Tests keep every core busy, so an engine of a service that they start may have to wait for one.
  WELLHEAD_ENGINE_PATIENCE: '4',
  ...inherited,
  ...(await engineEnvironment()),
  TMPDIR: temporary,
  WELLHEAD_TEST_SCRATCH: scratch,
  ...(authorities && { WELLHEAD_TEST_AUTHORITIES: authorities }),
}
const promtool = await ensurePromtool()
if (promtool) environment.PROMTOOL = promtool
const chosen = given.filter((argument) => /^(?:src|test|console)\//.test(argument))
// A folder of tests may have anything in it.
const isChosen = (subject) =>
  chosen.length === 0 || chosen.some((path) => /^test\/(?:.*\/)?[^.]*$/.test(path) || subject.test(path))
if (isChosen(/console|guides|logflare/)) environment.CHROMIUM_PATH = ensureChromium()
if (isChosen(/caching/)) environment.NGINX_PATH = ensureNginx()
const faketime = isChosen(/torture/) ? ensureFaketime() : undefined
if (faketime) environment.FAKETIME_LIBRARY = faketime
const args = [vitest, 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
const tests = spawn(process.execPath, [...args, ...given], { stdio: 'inherit', env: environment })
const code = await new Promise((resolve) => tests.on('exit', resolve))
let counts
try {
  counts = JSON.parse(readFileSync(report, 'utf8'))
} catch {
  counts = undefined
}
rmSync(scratch, { recursive: true, force: true })

const { failed: checkFailed = false, output = '' } = (await check) ?? {}
if (checkFailed) console.log(`npm run check failed:\n${output}`)
printSlowest(counts?.testResults ?? [])
const passed = counts?.numPassedTests ?? 0
// A file that cannot be loaded fails without a failed test.
const broken = (counts?.testResults ?? []).filter(
  (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
).length
const failed = (counts ? counts.numFailedTests + broken : 1) + (checkFailed ? 1 : 0)
const skipped = (counts?.numPendingTests ?? 0) + (counts?.numTodoTests ?? 0)
if (skipped > 0) console.log(`${skipped} skipped`)
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed > 0 || passed === 0 ? 1 : (code ?? 1))

/** Its output is shown at the end, where a failure is not lost between the results of tests. */
async function startCheck() {
  const child = spawn('npm', ['run', '--silent', 'check:code'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    // The compiler is written in Go, and collects its garbage less often.
    env: { ...process.env, GOGC: '400' },
  })
  // Only while a core has nothing else to do, because tests wait for the check if it is in their way.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const exitCode = await new Promise((resolve) => child.on('close', resolve))
  return { failed: exitCode !== 0, output }
}

function printSlowest(files) {
  const slowest = files
    .map(({ name, startTime, endTime }) => ({ name: relative(root, name), ms: endTime - startTime }))
    .sort((one, other) => other.ms - one.ms)
    .slice(0, shownFiles)
  if (slowest.length < 2) return
  console.log('Slowest files:')
  for (const { name, ms } of slowest) console.log(`${(ms / 1000).toFixed(1).padStart(7)} s  ${name}`)
}
