/** Runs all tests, or those named, and prints the counts in the last line. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { engineEnvironment } from './engine-environment.mjs'
import { ensureChromium, ensureNginx } from './ensure-program.mjs'
import { ensurePromtool } from './ensure-promtool.mjs'

const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url))
const scratch = mkdtempSync(join(tmpdir(), 'wellhead-test-'))
const report = join(scratch, 'report.json')
const environment = { ...process.env, ...(await engineEnvironment()) }
const promtool = await ensurePromtool()
if (promtool) environment.PROMTOOL = promtool
const chosen = process.argv.slice(2).filter((argument) => /^(?:src|test|console)\//.test(argument))
const isChosen = (subject) => chosen.length === 0 || chosen.some((file) => subject.test(file))
if (isChosen(/console|guides/)) environment.CHROMIUM_PATH = ensureChromium()
if (isChosen(/caching/)) environment.NGINX_PATH = ensureNginx()
const args = [vitest, 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
const child = spawn(process.execPath, [...args, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: environment,
})
child.on('exit', (code) => {
  let counts
  try {
    counts = JSON.parse(readFileSync(report, 'utf8'))
  } catch {
    counts = undefined
  }
  rmSync(scratch, { recursive: true, force: true })
  const passed = counts?.numPassedTests ?? 0
  // A file that cannot be loaded fails without a failed test.
  const broken = (counts?.testResults ?? []).filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  ).length
  const failed = counts ? counts.numFailedTests + broken : 1
  const skipped = (counts?.numPendingTests ?? 0) + (counts?.numTodoTests ?? 0)
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  process.exit(failed > 0 || passed === 0 ? 1 : (code ?? 1))
})
