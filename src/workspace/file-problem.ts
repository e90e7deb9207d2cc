import type { TextPosition } from '../base/yaml-fields.ts'

/** Something in a file of a project that has to be mended. */
export interface FileProblem extends TextPosition {
  /** Relative to the project, with slashes. */
  file: string
  message: string
}

/** As compilers write it, so that editors find the place. */
export function describeFileProblem({ file, line, column, message }: FileProblem): string {
  return `${file}:${line}:${column}: ${message}`
}

export function inOrder(problems: readonly FileProblem[]): FileProblem[] {
  return [...problems].sort(
    (one, other) =>
      (one.file < other.file ? -1 : Number(one.file > other.file)) ||
      one.line - other.line ||
      one.column - other.column,
  )
}
