import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { checkWorkspace } from '../../workspace/check-workspace.ts'
import { writeMissingIds } from '../../workspace/workspace.ts'
import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { plural } from '../output/format-amount.ts'
import { printJson } from '../output/print.ts'
import { visible } from '../output/visible.ts'
import { inWorkspace, openWorkspace, printFindings, problemsFound } from './findings.ts'

export interface CheckOptions {
  strict?: true
  fix?: true
  json?: true
}

export async function checkFiles(directory: string, { strict, fix, json }: CheckOptions, io: CommandIo) {
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
