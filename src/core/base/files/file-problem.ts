import type { z } from 'zod'
import { fieldProblems, problemSentence, valueAt } from '../validation.ts'
import { readYamlFields, type TextPosition, type YamlFields } from './yaml-fields.ts'

export interface FileProblem extends TextPosition {
  /** Relative to the workspace, with slashes. */
  file: string
  message: string
}

/** SQL that is valid but probably wrong. */
export interface FileWarning extends FileProblem {
  code: string
}

/** The format that compilers use, so that editors can jump to the position. */
export function describeFinding(finding: FileProblem | FileWarning): string {
  const { file, line, column, message } = finding
  const text = 'code' in finding ? `warning: ${message} [${finding.code}]` : message
  return `${file}:${line}:${column}: ${text}`
}

export function sortProblems<T extends FileProblem>(problems: readonly T[]): T[] {
  return [...problems].sort(
    (one, other) =>
      (one.file < other.file ? -1 : Number(one.file > other.file)) ||
      one.line - other.line ||
      one.column - other.column,
  )
}

/** How to declare a source that the workspace reads. */
export function declareAdvice(source: string): string {
  return `To declare it, create sources/${source}.yaml, for example with: wellhead source init ${source} --from <file of entries>`
}

/** Parses a YAML file by its shape and reports all problems together, each with its position. */
export function readYamlFile<T>(
  file: string,
  text: string,
  shape: z.ZodType<T>,
  example: string,
): { value: T; yaml: YamlFields } | { problems: FileProblem[] } {
  const yaml = readYamlFields(text, example)
  if (yaml.syntaxProblems.length > 0) {
    const problems = yaml.syntaxProblems.map(({ at, message }) => ({
      file,
      ...at,
      message: `The file ${message}.`,
    }))
    return { problems }
  }
  const misread = yaml.misreadNumbers
    // Parameter values are strings; parsing them as numbers would change how they are written.
    .filter(({ path }) => path.includes('parameters'))
    .map(({ at, path, message }) => ({ file, ...at, message: `${path.join('.')} ${message}.` }))
  const parsed = shape.safeParse(yaml.fields)
  if (parsed.success && misread.length === 0) return { value: parsed.data, yaml }
  const problems = (parsed.success ? [] : fieldProblems(parsed.error, shape)).map(({ path, message }) => {
    const isOurs = /^(must|is|cannot)\b/.test(message)
    const isMissing = !isOurs && valueAt(yaml.fields, path) === undefined
    const said = isOurs ? message : isMissing ? 'is missing' : `is invalid: ${message}`
    return { file, ...yaml.positionOf(path), message: problemSentence(pathText(path) || 'The file', said) }
  })
  return { problems: sortProblems([...problems, ...misread]) }
}

/** Numbers list items from 1. */
function pathText(path: readonly PropertyKey[]): string {
  return path.map((step) => (typeof step === 'number' ? step + 1 : String(step))).join('.')
}
