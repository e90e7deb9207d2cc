import { within } from '../endpoints/definition-file.ts'
import { type FileProblem, inOrder } from './file-problem.ts'
import type { Project, ProjectEndpoint } from './project.ts'
import type { BenchError, Workbench } from './workbench.ts'

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

/** Where the engine names no place, it is the beginning of the SQL. */
export function problemOf({ file, queryAt, definition }: ProjectEndpoint, error: BenchError): FileProblem {
  const { line = 1, column = 1 } = error
  const prefix = `${definition.name}: `
  const message = error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message
  return { file, ...within(queryAt, { line, column }), message }
}
