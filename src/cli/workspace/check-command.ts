import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { checkWorkspace } from '../../workspace/check-workspace.ts'
import { writeMissingIds } from '../../workspace/workspace.ts'
import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { addExamples } from '../help.ts'
import { plural } from '../output/format-amount.ts'
import { printJson } from '../output/print.ts'
import { visible } from '../output/visible.ts'
import { inWorkspace, openWorkspace, printFindings, problemsFound } from './findings.ts'

interface CheckOptions {
  strict?: true
  fix?: true
  json?: true
}

export function addCheckCommand(program: Command, io: CommandIo): void {
  const check = program
    .command('check')
    .description('find errors and likely mistakes in endpoint files; needs no service')
    .argument('[directory]', 'workspace directory', '.')
    .option('--strict', 'fail on warnings, too')
    .option('--fix', 'write a new id into endpoint files that have none')
    .option('--json', 'print JSON')
    .action((directory: string, options: CheckOptions) => checkFiles(directory, options, io))
  addExamples(check, 'wellhead check', 'wellhead check shop --json', 'wellhead check --strict')
}

async function checkFiles(directory: string, { strict, fix, json }: CheckOptions, io: CommandIo) {
  const fixed = fix ? inWorkspace(() => writeMissingIds(resolve(io.cwd, directory), randomUUID)) : []
  for (const { file, id } of json ? [] : fixed) await io.stdout.write(`${visible(file)}: added id ${id}\n`)
  const workspace = openWorkspace(directory, io)
  const { withWorkbench } = await import('./with-workbench.ts')
  const { problems, warnings } = await withWorkbench(io, (bench) => checkWorkspace(workspace, bench))
  const endpoints = workspace.endpoints.length
  if (json) await printJson(io, { endpoints, problems, warnings, ...(fix && { fixed }) })
  else await printFindings([...problems, ...warnings], io)
  if (problems.length > 0) throw problemsFound(problems)
  if (strict && warnings.length > 0) throw new CommandFailure(`${plural(warnings.length, 'warning')} found.`)
  const found = warnings.length === 0 ? 'no problems found' : plural(warnings.length, 'warning')
  if (!json) await io.stdout.write(`${plural(endpoints, 'endpoint')} checked, ${found}.\n`)
}
