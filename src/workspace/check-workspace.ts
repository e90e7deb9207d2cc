import type { TextPosition } from '../base/yaml-fields.ts'
import { positionOf, within } from '../sql/errors.ts'
import { sqlTokens } from '../sql/tokens.ts'
import { type FileProblem, inOrder } from './file-problem.ts'
import type { BenchError, Workbench } from './workbench.ts'
import type { Project, ProjectEndpoint } from './workspace.ts'

/** Everything that saving the endpoints would refuse. */
export async function checkProject(project: Project, bench: Workbench): Promise<FileProblem[]> {
  const problems = [...project.problems, ...(await makeSources(project, bench))]
  for (const endpoint of project.endpoints) {
    const error = await bench.check(endpoint.definition)
    if (error) problems.push(problemOf(endpoint, error))
  }
  return inOrder(problems)
}

export async function makeSources({ sources }: Project, bench: Workbench): Promise<FileProblem[]> {
  const problems: FileProblem[] = []
  for (const { file, source } of sources) {
    const error = await bench.makeSource(source)
    if (error) problems.push({ file, line: 1, column: 1, message: error.message })
  }
  return problems
}

export function problemOf({ file, queryAt, definition }: ProjectEndpoint, error: BenchError): FileProblem {
  const { line, column } = error
  const at =
    line !== undefined && column !== undefined ? { line, column } : placeOf(error.message, definition.query)
  const prefix = `${definition.name}: `
  const message = error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message
  return { file, ...within(queryAt, at), message }
}

/** Where the engine names no place but a name, it is most likely meant where it stands first. */
function placeOf(message: string, query: string): TextPosition {
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
