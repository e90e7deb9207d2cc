import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { checkProject } from '../../workspace/check-workspace.ts'
import { describeFileProblem, type FileProblem } from '../../workspace/file-problem.ts'
import { newProjectFiles } from '../../workspace/new-workspace.ts'
import { runTests, type TestOutcome } from '../../workspace/run-tests.ts'
import { type Update, updatedText } from '../../workspace/update-test-file.ts'
import { NoProject, type Project, readProject } from '../../workspace/workspace.ts'
import { CommandFailure, usageFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { addExamples } from '../help.ts'
import { printJson } from '../output/print.ts'
import { visible } from '../output/text-width.ts'

/** Endpoints as files, without a service: making, checking and testing a project. */
export function addProjectCommands(program: Command, io: CommandIo): void {
  const init = program
    .command('init')
    .description('make a project: endpoints as files, with fixtures and tests')
  init
    .argument('[directory]', 'where it shall be', '.')
    .action((directory: string) => makeProject(resolve(io.cwd, directory), directory, io))
  addExamples(init, 'wellhead init', 'wellhead init shop')

  const check = program
    .command('check')
    .description('find everything that saving would refuse; needs no service')
  check
    .argument('[directory]', 'directory of the project', '.')
    .option('--json', 'as JSON')
    .action(async (directory: string, options: { json?: true }) => {
      const project = openProject(directory, io)
      const { withWorkbench } = await import('./with-workbench.ts')
      const problems = await withWorkbench(io, (bench) => checkProject(project, bench))
      if (options.json) await printJson(io, { endpoints: project.endpoints.length, problems })
      else await printProblems(problems, io)
      if (problems.length > 0) throw found(problems)
      const files = counted(project.endpoints.length, 'endpoint')
      if (!options.json) await io.stdout.write(`${files} checked, nothing to mend.\n`)
    })
  addExamples(check, 'wellhead check', 'wellhead check shop --json')

  const test = program
    .command('test')
    .description('run the tests of a project against a throw-away engine; needs no service')
  test
    .argument('[directory]', 'directory of the project', '.')
    .option('--filter <text>', 'only tests whose endpoint or name has this text')
    .option('--update', 'write down the rows that came as the expected ones')
    .option('--json', 'as JSON')
    .action((directory: string, options: TestOptions) => testProject(directory, options, io))
  addExamples(test, 'wellhead test', 'wellhead test --filter usage', 'wellhead test --update')
}

async function makeProject(directory: string, shown: string, io: CommandIo): Promise<void> {
  const isThere = (file: string) => existsSync(join(directory, file))
  // A repository has these, and they are its own.
  const files = Object.entries(newProjectFiles(randomUUID())).filter(
    ([file]) => file.includes('/') || !isThere(file),
  )
  const used = [...new Set(files.map(([file]) => file.split('/')[0] as string))].filter(
    (name) => isThere(name) && readdirSync(join(directory, name)).length > 0,
  )
  if (used.length > 0) {
    throw new CommandFailure(`${directory} has ${used.join(', ')} already; nothing was written.`)
  }
  for (const [file, content] of files) {
    mkdirSync(dirname(join(directory, file)), { recursive: true })
    // Somebody may have been faster, and theirs must not be lost.
    writeFileSync(join(directory, file), content, { flag: 'wx' })
    await io.stdout.write(`${file}\n`)
  }
  const where = shown === '.' ? '' : `cd ${shown} && `
  await io.stdout.write(`Try it: ${where}wellhead test\n`)
}

interface TestOptions {
  filter?: string
  update?: true
  json?: true
}

async function testProject(directory: string, options: TestOptions, io: CommandIo): Promise<void> {
  const project = openProject(directory, io)
  if (project.problems.length > 0) {
    await (options.json ? printJson(io, { problems: project.problems }) : printProblems(project.problems, io))
    throw found(project.problems)
  }
  const all = project.tests.flatMap(({ tests }) => tests)
  const tests = all.filter(({ endpoint, name }) => `${endpoint} ${name}`.includes(options.filter ?? ''))
  if (tests.length === 0) {
    throw new CommandFailure(all.length === 0 ? 'The project has no tests.' : 'No test has this text.')
  }
  const show = (outcome: TestOutcome) =>
    void (options.json || io.stdout.write(outcomeText(outcome, options, io)))
  // The whole service is in it, which the other commands need not load.
  const { withWorkbench } = await import('./with-workbench.ts')
  const { problems, outcomes } = await withWorkbench(io, (bench) => runTests(project, tests, bench, show))
  const failed = outcomes.filter(({ kind }) => kind === 'failed')
  const updated = options.update ? await update(project, outcomes) : []
  const left = failed.filter((outcome) => !updated.includes(outcome))
  if (options.json) await printJson(io, { problems, tests: outcomes.map((one) => outcomeJson(one, updated)) })
  else await printProblems(problems, io)
  if (problems.length > 0) throw found(problems)
  const counts = [
    `${outcomes.length - failed.length} passed`,
    `${left.length} failed`,
    ...(options.update ? [`${updated.length} updated`] : []),
  ]
  if (!options.json) await io.stdout.write(`${counts.join(', ')}\n`)
  if (left.length > 0) throw new CommandFailure('')
}

function outcomeText(outcome: TestOutcome, options: TestOptions, { stdout: { colors } }: CommandIo): string {
  const { endpoint, name, file, line } = outcome.test
  const title = visible(`${endpoint}: ${name}`)
  if (outcome.kind === 'passed') return `${colors.green('passed')} ${title}\n`
  if (options.update && outcome.rows) return `${colors.yellow('updated')} ${title}\n`
  const message = outcome.message
    .split('\n')
    .map((text) => `  ${coloured(visible(text), colors)}\n`)
    .join('')
  return `${colors.red('failed')} ${title} (${file}:${line})\n${message}`
}

function coloured(line: string, colors: CommandIo['stdout']['colors']): string {
  if (/^-(?!--)/.test(line)) return colors.red(line)
  return /^\+(?!\+\+)/.test(line) ? colors.green(line) : line
}

function outcomeJson(outcome: TestOutcome, updated: readonly TestOutcome[]) {
  const { file, line, endpoint, name } = outcome.test
  const kind = updated.includes(outcome) ? 'updated' : outcome.kind
  return {
    file,
    line,
    endpoint,
    name,
    outcome: kind,
    ...(outcome.kind === 'failed' && kind === 'failed' && { message: outcome.message }),
  }
}

/** Rewrites the files whose tests got other rows; gives those that are as expected now. */
async function update(project: Project, outcomes: readonly TestOutcome[]): Promise<TestOutcome[]> {
  const updated: TestOutcome[] = []
  for (const file of project.tests) {
    const updates: Update[] = []
    for (const outcome of outcomes) {
      if (outcome.kind !== 'failed' || !outcome.rows || outcome.test.file !== file.file) continue
      updates.push({ index: outcome.test.index, rows: outcome.rows })
      updated.push(outcome)
    }
    if (updates.length === 0) continue
    const path = join(project.directory, file.file)
    writeFileSync(path, updatedText(file, readFileSync(path, 'utf8'), updates))
  }
  return updated
}

/** The project at a place that somebody named. */
export function openProject(directory: string, io: CommandIo): Project {
  try {
    return readProject(resolve(io.cwd, directory))
  } catch (error) {
    throw error instanceof NoProject ? usageFailure(error.message) : error
  }
}

export async function printProblems(problems: readonly FileProblem[], io: CommandIo): Promise<void> {
  for (const problem of problems) await io.stdout.write(`${visible(describeFileProblem(problem))}\n`)
}

function found(problems: readonly FileProblem[]): CommandFailure {
  return new CommandFailure(`${counted(problems.length, 'problem')} found.`)
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
