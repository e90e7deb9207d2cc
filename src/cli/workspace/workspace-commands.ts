import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import writeFileAtomic from 'write-file-atomic'
import { makeDirectory } from '../../base/files/make-directory.ts'
import { newWorkspaceFiles } from '../../workspace/authoring/new-workspace.ts'
import { runTests, type TestOutcome } from '../../workspace/run-tests.ts'
import { type RowsUpdate, updateRows } from '../../workspace/test-file.ts'
import type { Workspace } from '../../workspace/workspace.ts'
import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { addExamples } from '../help.ts'
import { printJson } from '../output/print.ts'
import { visible } from '../output/visible.ts'
import { addCheckCommand } from './check-command.ts'
import { openWorkspace, printFindings, problemsFound } from './findings.ts'

interface TestOptions {
  filter?: string
  update?: true
  json?: true
}

/** Commands for endpoint files that need no running service. */
export function addWorkspaceCommands(program: Command, io: CommandIo): void {
  const init = program
    .command('init')
    .description('create a workspace: endpoint files with fixtures and tests')
    .argument('[directory]', 'new workspace directory', '.')
    .action((directory: string) => createWorkspace(resolve(io.cwd, directory), directory, io))
  addExamples(init, 'wellhead init', 'wellhead init shop')

  addCheckCommand(program, io)

  const test = program
    .command('test')
    .description('run the tests of a workspace with a temporary engine; needs no service')
    .argument('[directory]', 'workspace directory', '.')
    .option('--filter <text>', 'only tests whose endpoint or name contains this text')
    .option('--update', 'save the returned rows as the expected rows')
    .option('--json', 'print JSON')
    .action((directory: string, options: TestOptions) => testWorkspace(directory, options, io))
  addExamples(test, 'wellhead test', 'wellhead test --filter usage', 'wellhead test --update')
}

async function createWorkspace(directory: string, shown: string, io: CommandIo): Promise<void> {
  const exists = (file: string) => existsSync(join(directory, file))
  // An existing repository keeps its own README.md and .gitignore.
  const files = Object.entries(newWorkspaceFiles(randomUUID())).filter(
    ([file]) => file.includes('/') || !exists(file),
  )
  const used = [...new Set(files.map(([file]) => file.split('/')[0] as string))].filter(
    (name) => exists(name) && readdirSync(join(directory, name)).length > 0,
  )
  if (used.length > 0) {
    throw new CommandFailure(`${directory} already contains ${used.join(', ')}; nothing was written.`)
  }
  for (const [file, content] of files) {
    makeDirectory(dirname(join(directory, file)))
    // Never replaces a file, even one that was created in the meantime.
    writeFileSync(join(directory, file), content, { flag: 'wx' })
    await io.stdout.write(`${file}\n`)
  }
  await io.stdout.write(`Try it: ${shown === '.' ? '' : `cd ${shown} && `}wellhead test\n`)
}

async function testWorkspace(directory: string, options: TestOptions, io: CommandIo): Promise<void> {
  const { json, filter = '' } = options
  const workspace = openWorkspace(directory, io)
  if (workspace.problems.length > 0) {
    const { problems } = workspace
    await (json ? printJson(io, { problems }) : printFindings(problems, io))
    throw problemsFound(problems)
  }
  const all = workspace.tests.flatMap(({ tests }) => tests)
  const tests = all.filter(({ endpoint, name }) => `${endpoint} ${name}`.includes(filter))
  if (tests.length === 0) {
    throw new CommandFailure(
      all.length === 0 ? 'The workspace has no tests.' : `No test matches "${filter}".`,
    )
  }
  const show = (outcome: TestOutcome) => void (json || io.stdout.write(outcomeText(outcome, options, io)))
  // Loads the whole service, which other commands do not need.
  const { withWorkbench } = await import('./with-workbench.ts')
  const { problems, outcomes } = await withWorkbench(io, (bench) => runTests(workspace, tests, bench, show))
  const failed = outcomes.filter(({ kind }) => kind === 'failed')
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
  if (outcome.kind === 'passed') return `${colors.green('passed')} ${title}\n`
  if (options.update && outcome.rows) return `${colors.yellow('updated')} ${title}\n`
  const message = outcome.message.split('\n').map((text) => {
    const shown = visible(text)
    if (/^-(?!--)/.test(shown)) return `  ${colors.red(shown)}\n`
    return /^\+(?!\+\+)/.test(shown) ? `  ${colors.green(shown)}\n` : `  ${shown}\n`
  })
  return `${colors.red('failed')} ${title} (${file}:${line})\n${message.join('')}`
}

function outcomeJson(outcome: TestOutcome, updated: readonly TestOutcome[]) {
  const { file, line, endpoint, name } = outcome.test
  const test = { file, line, endpoint, name }
  if (updated.includes(outcome)) return { ...test, outcome: 'updated' }
  if (outcome.kind === 'passed') return { ...test, outcome: 'passed' }
  return { ...test, outcome: 'failed', message: outcome.message }
}

function saveRows(workspace: Workspace, outcomes: readonly TestOutcome[]): TestOutcome[] {
  const updated: TestOutcome[] = []
  for (const file of workspace.tests) {
    const updates: RowsUpdate[] = []
    for (const outcome of outcomes) {
      if (outcome.kind !== 'failed' || !outcome.rows || outcome.test.file !== file.file) continue
      updates.push({ index: outcome.test.index, rows: outcome.rows })
      updated.push(outcome)
    }
    if (updates.length === 0) continue
    const path = join(workspace.directory, file.file)
    writeFileAtomic.sync(path, updateRows(file, readFileSync(path, 'utf8'), updates))
  }
  return updated
}
