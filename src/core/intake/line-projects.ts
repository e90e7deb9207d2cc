import { backslash, quote } from '../base/json/json-scanner.ts'

/** Of entries. Those that a token or a plan can have are shorter. */
export const maxProjectLength = 1_000

/** Lines as the intake writes them: each begins with the project. */
export interface ProjectLines {
  readonly bytes: Buffer
  readonly ends: Uint32Array
}

/** Lines of one project that follow each other. */
export interface ProjectRun {
  project: string
  from: number
  to: number
  bytes: number
}

const beforeProject = '{"project":"'.length

/** Compares a project with the one of the line before, so that most lines are not decoded. */
export function* projectRuns({ bytes, ends }: ProjectLines): Generator<ProjectRun> {
  let [first, firstEnd] = [0, 0]
  let run: ProjectRun | undefined
  for (let line = 0; line < ends.length; line++) {
    const start = (line === 0 ? 0 : (ends[line - 1] as number)) + beforeProject
    const length = (ends[line] as number) - start + beforeProject
    if (run && isSame(bytes, first, firstEnd, start)) {
      run.to = line + 1
      run.bytes += length
      continue
    }
    if (run) yield run
    first = start
    firstEnd = endOfText(bytes, start)
    const project = JSON.parse(bytes.toString('utf8', first - 1, firstEnd + 1)) as string
    run = { project, from: line, to: line + 1, bytes: length }
  }
  if (run) yield run
}

/** Also compares the quote at the end. */
function isSame(bytes: Buffer, from: number, to: number, start: number): boolean {
  for (let at = from; at <= to; at++) if (bytes[at] !== bytes[start + at - from]) return false
  return true
}

function endOfText(bytes: Buffer, start: number): number {
  let at = start
  while (bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
  return at
}
