import { fieldPosition } from '../endpoints/definition/definition-file.ts'
import { within } from '../sql/errors.ts'
import type { Warning } from '../sql/warnings/warning.ts'
import { declareAdvice, type FileProblem, type FileWarning, sortProblems } from './file-problem.ts'
import type { BenchError, Workbench } from './workbench.ts'
import type { Workspace, WorkspaceEndpoint } from './workspace.ts'

/** Finds everything that a service would reject when the endpoints are saved. */
export async function checkWorkspace(workspace: Workspace, bench: Workbench) {
  const problems = [...workspace.problems, ...(await createSources(workspace, bench))]
  const warnings: FileWarning[] = []
  for (const endpoint of workspace.endpoints) {
    const found = await bench.check(endpoint.definition)
    if ('error' in found) problems.push(problemOf(endpoint, found.error))
    else warnings.push(...found.warnings.map((warning) => warningOf(endpoint, warning)))
  }
  for (const { file, name, fields, positionOf } of workspace.alerts) {
    const endpoint = workspace.endpoints.find(({ definition }) => definition.name === fields.endpoint)
    const error = await bench.checkAlert({ name, ...fields }, endpoint?.definition)
    if (error)
      problems.push({ file, ...positionOf(error.parameter?.split('.') ?? []), message: error.message })
  }
  return { problems: sortProblems(problems), warnings: sortProblems(warnings) }
}

export async function createSources({ sources }: Workspace, bench: Workbench): Promise<FileProblem[]> {
  const problems: FileProblem[] = []
  for (const { file, source } of sources) {
    const error = await bench.createSource(source)
    if (error) problems.push({ file, line: 1, column: 1, message: error.message })
  }
  return problems
}

export function problemOf({ file, queryAt, definition }: WorkspaceEndpoint, error: BenchError): FileProblem {
  const { line = 1, column = 1 } = error
  const prefix = `${definition.name}: `
  const message = error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message
  const [, unknown] = /^Unknown source "([a-z][a-z0-9_]*)"/.exec(message) ?? []
  const advice = unknown === undefined ? '' : ` ${declareAdvice(unknown)}`
  return { file, ...within(queryAt, { line, column }), message: message + advice }
}

/** A warning of a service, with its position in the file. */
export function warningOf({ file, content, queryAt }: WorkspaceEndpoint, warning: Warning): FileWarning {
  const { code, message } = warning
  const [, name = ''] = code === 'unused_parameter' ? (/\bparameter (\w+)/i.exec(message) ?? []) : []
  const at = fieldPosition(content, ['parameters', name]) ?? within(queryAt, warning)
  return { file, line: at.line, column: at.column, code, message }
}
