import type { TextPosition } from '../base/files/yaml-fields.ts'
import { fieldPosition } from '../endpoints/definition/definition-file.ts'
import { positionOf, within } from '../sql/errors.ts'
import { sqlTokens } from '../sql/tokens.ts'
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
  const { line, column } = error
  const at =
    line !== undefined && column !== undefined
      ? { line, column }
      : findPosition(error.message, definition.query)
  const prefix = `${definition.name}: `
  const message = error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message
  const [, unknown] = /^Unknown source "([a-z][a-z0-9_]*)"/.exec(message) ?? []
  const advice = unknown === undefined ? '' : ` ${declareAdvice(unknown)}`
  return { file, ...within(queryAt, at), message: message + advice }
}

/** A warning of a service, with its position in the file. */
export function warningOf({ file, content, queryAt }: WorkspaceEndpoint, warning: Warning): FileWarning {
  const { code, message } = warning
  const [, name = ''] = code === 'unused_parameter' ? (/\bparameter (\w+)/i.exec(message) ?? []) : []
  const at = fieldPosition(content, ['parameters', name]) ?? within(queryAt, warning)
  return { file, line: at.line, column: at.column, code, message }
}

/** Where the engine reports a name without a position, its first use in the SQL is the most likely position. */
function findPosition(message: string, query: string): TextPosition {
  const names = [...message.matchAll(/[`"]([^`"\s]{1,200})[`"]|\b(?:function|column) (\w+)/g)].map(
    ([, quoted, plain]) => quoted ?? plain,
  )
  for (const name of names) {
    for (const { kind, start, end } of sqlTokens(query)) {
      if (kind === 'word' && query.slice(start, end) === name?.split('.')[0]) return positionOf(query, start)
    }
  }
  return { line: 1, column: 1 }
}
