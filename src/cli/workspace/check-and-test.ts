import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import writeFileAtomic from 'write-file-atomic'
import { OperatorError } from '../../core/base/operator-error.ts'
import { EngineStartError } from '../../core/engine/embedded/host-protocol.ts'
import type { ServiceOptions } from '../../core.ts'
import { checkWorkspace, runTests, type TestOutcome, usedShipped } from '../../workspace/check-workspace.ts'
import { openTemporaryService, type TemporaryService } from '../../workspace/temporary-service.ts'
import { updateRows } from '../../workspace/test-file.ts'
import { type Workspace, writeMissingIds } from '../../workspace/workspace.ts'
import { CommandFailure, type CommandIo } from '../kit/command-io.ts'
import { findWorkspace } from '../kit/find-workspace.ts'
import { plural, visible } from '../kit/output/format.ts'
import { coloredPatch, printJson } from '../kit/output/print.ts'
import { explainMissingEngine } from '../kit/start-problems.ts'
import { openWorkspace, printFindings, problemsFound, refuseProblems } from './files.ts'

export interface CheckOptions {
  strict?: true
  fix?: true
  json?: true
}

export async function checkFiles(directory: string, { strict, fix, json }: CheckOptions, io: CommandIo) {
  const fixed = fix ? writeMissingIds(findWorkspace(directory, io), randomUUID) : []
  for (const { file, id } of json ? [] : fixed) await io.stdout.write(`${visible(file)}: added id ${id}\n`)
  const workspace = openWorkspace(directory, io)
  const { problems, warnings } = await withService({ ...io, shipped: usedShipped(workspace) }, (service) =>
    checkWorkspace(workspace, service),
  )
  const { length: definitions } = workspace.definitions
  if (json) await printJson(io, { definitions, problems, warnings, ...(fix && { fixed }) })
  else await printFindings([...problems, ...warnings], io)
  if (problems.length > 0) throw problemsFound(problems)
  if (strict && warnings.length > 0) throw new CommandFailure(`${plural(warnings.length, 'warning')} found.`)
  const found = warnings.length === 0 ? 'no problems found' : plural(warnings.length, 'warning')
  if (!json) await io.stdout.write(`${plural(definitions, 'definition')} checked, ${found}.\n`)
}

export interface TestOptions {
  filter?: string
  update?: true
  json?: true
}

export async function testWorkspace(directory: string, options: TestOptions, io: CommandIo): Promise<void> {
  const { json, filter = '' } = options
  const workspace = openWorkspace(directory, io)
  await refuseProblems(workspace.problems, json, io)
  const all = workspace.tests.flatMap(({ tests }) => tests)
  const tests = all.filter(({ endpoint, name }) => `${endpoint} ${name}`.includes(filter))
  if (tests.length === 0) {
    throw new CommandFailure(
      all.length === 0 ? 'The workspace has no tests.' : `No test matches "${filter}".`,
    )
  }
  const show = (outcome: TestOutcome) => void (json || io.stdout.write(outcomeText(outcome, options, io)))
  const { problems, outcomes } = await withService({ ...io, shipped: usedShipped(workspace) }, (service) =>
    runTests(workspace, tests, service, show),
  )
  const failed = outcomes.filter(({ failure }) => failure !== undefined)
  const updated = options.update ? saveRows(workspace, outcomes) : []
  const remaining = failed.filter((outcome) => !updated.includes(outcome))
  await (json
    ? printJson(io, { problems, tests: outcomes.map((one) => outcomeJson(one, updated)) })
    : printFindings(problems, io))
  if (problems.length > 0) throw problemsFound(problems)
  const counts = [
    `${outcomes.length - failed.length} passed`,
    `${remaining.length} failed`,
    ...(options.update ? [`${updated.length} updated`] : []),
  ]
  if (!json) await io.stdout.write(`${counts.join(', ')}\n`)
  if (remaining.length > 0) throw new CommandFailure('')
}

function outcomeText(outcome: TestOutcome, options: TestOptions, { stdout: { colors } }: CommandIo): string {
  const { endpoint, name, file, line } = outcome.test
  const title = visible(`${endpoint}: ${name}`)
  if (outcome.failure === undefined) return `${colors.green('passed')} ${title}\n`
  if (options.update && outcome.rows) return `${colors.yellow('updated')} ${title}\n`
  const failure = coloredPatch(outcome.failure, colors).replace(/^/gm, '  ')
  return `${colors.red('failed')} ${title} (${file}:${line})\n${failure}\n`
}

function outcomeJson(outcome: TestOutcome, updated: readonly TestOutcome[]) {
  const { file, line, endpoint, name } = outcome.test
  const test = { file, line, endpoint, name }
  if (updated.includes(outcome)) return { ...test, outcome: 'updated' }
  if (outcome.failure === undefined) return { ...test, outcome: 'passed' }
  return { ...test, outcome: 'failed', message: outcome.failure }
}

function saveRows(workspace: Workspace, outcomes: readonly TestOutcome[]): TestOutcome[] {
  const updated = outcomes.filter(({ rows }) => rows !== undefined)
  for (const file of workspace.tests) {
    const own = updated.filter(({ test }) => test.file === file.file)
    const updates = own.map(({ test, rows = [] }) => ({ index: test.index, rows }))
    if (updates.length === 0) continue
    const path = join(workspace.directory, file.file)
    writeFileAtomic.sync(path, updateRows(file, readFileSync(path, 'utf8'), updates))
  }
  return updated
}

/** Runs work with a temporary service, which is removed afterwards and when the command is stopped. */
async function withService<T>(
  { environment, node, signal, shipped = [] }: CommandIo & Pick<ServiceOptions, 'shipped'>,
  work: (service: TemporaryService) => Promise<T>,
): Promise<T> {
  const { temporary, close } = await openTemporaryService({ environment, node, shipped }).catch((error) => {
    const isExpected = error instanceof OperatorError || error instanceof EngineStartError
    if (!isExpected) throw error
    const isMissing = error instanceof EngineStartError && error.reason === 'no-engine'
    const message = isMissing
      ? `${explainMissingEngine(error.message)}.`
      : `The embedded engine cannot start: ${error.message} Set TMPDIR to use another temporary directory.`
    throw new CommandFailure(message, undefined, { cause: error })
  })
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  try {
    signal.throwIfAborted()
    return await Promise.race([work(temporary), stopped])
  } finally {
    await close()
  }
}
