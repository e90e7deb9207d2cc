import type { TextPosition } from '../base/files/yaml-fields.ts'
import { positionOf, within } from '../sql/errors.ts'
import { sqlTokens } from '../sql/tokens.ts'
import { type FileProblem, sortProblems } from './file-problem.ts'
import type { BenchError, Workbench } from './workbench.ts'
import type { Workspace, WorkspaceEndpoint } from './workspace.ts'

/** Everything that a service would reject when the endpoints are saved. */
export async function checkWorkspace(workspace: Workspace, bench: Workbench): Promise<FileProblem[]> {
  const problems = [...workspace.problems, ...(await createSources(workspace, bench))]
  for (const endpoint of workspace.endpoints) {
    const error = await bench.check(endpoint.definition)
    if (error) problems.push(problemOf(endpoint, error))
  }
  return sortProblems(problems)
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
  return { file, ...within(queryAt, at), message }
}

/** Where the engine reports a name without a position, its first use in the SQL is the most likely position. */
function findPosition(message: string, query: string): TextPosition {
  const names = [...message.matchAll(/[`"]([^`"\s]+)[`"]|\b(?:function|column) (\w+)/g)].map(
    ([, quoted, plain]) => quoted ?? plain,
  )
  for (const name of names) {
    for (const { kind, start, end } of sqlTokens(query)) {
      if (kind === 'word' && query.slice(start, end) === name?.split('.')[0]) return positionOf(query, start)
    }
  }
  return { line: 1, column: 1 }
}
