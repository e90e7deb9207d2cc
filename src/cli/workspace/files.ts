import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  describeFinding,
  type FileProblem,
  type FileWarning,
  sortProblems,
} from '../../base/files/file-problem.ts'
import { kinds } from '../../kinds.ts'
import { projectsFileName } from '../../workspace/projects-file.ts'
import { readWorkspace, type Workspace } from '../../workspace/workspace.ts'
import { CommandFailure, type CommandIo, usageFailure } from '../command-io.ts'
import { plural, visible } from '../output/format.ts'
import { printJson } from '../output/print.ts'

export function openWorkspace(directory: string, io: CommandIo): Workspace {
  return readWorkspace(findWorkspace(directory, io))
}

export function findWorkspace(directory: string, io: CommandIo): string {
  const path = resolve(io.cwd, directory)
  if (existsSync(join(path, 'endpoints'))) return path
  throw usageFailure(
    `${path} is not a workspace: it has no directory "endpoints". Create a workspace with: wellhead init`,
  )
}

/** Reads a workspace whose definitions have no problems. */
export async function openChecked(
  directory: string,
  json: true | undefined,
  io: CommandIo,
): Promise<Workspace> {
  const workspace = openWorkspace(directory, io)
  const problems = workspace.problems.filter(
    ({ file }) => file === projectsFileName || kinds.some(({ folder }) => file.startsWith(`${folder}/`)),
  )
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
