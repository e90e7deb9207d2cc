import { relative, resolve } from 'node:path'
import type { Command } from 'commander'
import {
  describeFinding,
  type FileProblem,
  type FileWarning,
  sortProblems,
} from '../../core/base/files/file-problem.ts'
import type { KindForm } from '../../core/definitions/kind.ts'
import { allKinds } from '../../kinds.ts'
import { readWorkspace, type Workspace } from '../../workspace/workspace.ts'
import { CommandFailure, type CommandIo } from '../kit/command-io.ts'
import { findWorkspace } from '../kit/find-workspace.ts'
import { plural, visible } from '../kit/output/format.ts'
import { printJson } from '../kit/output/print.ts'

export function openWorkspace(directory: string, io: CommandIo, options: object = {}): Workspace {
  const path = findWorkspace(directory, io)
  return readWorkspace(path, valuesFiles(path, io, options))
}

const namedValues = () => allKinds().flatMap(({ file: { values } }: KindForm) => (values ? [values] : []))

export function addValuesOptions(command: Command): Command {
  for (const { noun, variable, about } of namedValues()) {
    command.option(`--${noun} <file>`, `${about} (default: ${variable}, else ${noun}.yaml of the workspace)`)
  }
  return command
}

/** Chosen files, relative to the workspace like all that messages name. */
export function valuesFiles(
  directory: string,
  { cwd, environment }: CommandIo,
  options: object,
): Record<string, string> {
  return Object.fromEntries(
    namedValues().flatMap(({ noun, variable }) => {
      const chosen = (options as Record<string, string | undefined>)[noun] || environment[variable]
      return chosen ? [[noun, relative(directory, resolve(cwd, chosen))]] : []
    }),
  )
}

/** Reads a workspace whose definitions have no problems. */
export async function openChecked(
  directory: string,
  json: true | undefined,
  io: CommandIo,
  options: object,
): Promise<Workspace> {
  const workspace = openWorkspace(directory, io, options)
  const problems = workspace.problems.filter(({ file }) => !/^(fixtures|tests)\//.test(file))
  await refuseProblems(problems, json, io, ' Run wellhead check to see all of them.')
  return workspace
}

export async function refuseProblems(
  problems: readonly FileProblem[],
  json: true | undefined,
  io: CommandIo,
  advice = '',
): Promise<void> {
  if (problems.length === 0) return
  await (json ? printJson(io, { problems }) : printFindings(problems, io))
  throw problemsFound(problems, advice)
}

export async function printFindings(
  findings: readonly (FileProblem | FileWarning)[],
  io: CommandIo,
): Promise<void> {
  for (const finding of sortProblems(findings)) {
    await io.stdout.write(`${visible(describeFinding(finding))}\n`)
  }
}

export function problemsFound(problems: readonly FileProblem[], advice = ''): CommandFailure {
  return new CommandFailure(`${plural(problems.length, 'problem')} found.${advice}`)
}
