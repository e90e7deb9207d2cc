import type { z } from 'zod'
import { readYamlFields, type YamlFields } from '../base/yaml-fields.ts'
import { type FileProblem, inOrder } from './file-problem.ts'

export interface YamlFile<T> {
  value: T
  yaml: YamlFields
}

/** Reads a file of fields by its shape. Every problem is told at its place. */
export function readYamlFile<T>(
  file: string,
  text: string,
  shape: z.ZodType<T>,
  example: string,
): YamlFile<T> | { problems: FileProblem[] } {
  const yaml = readYamlFields(text, example)
  if (yaml.syntaxProblems.length > 0) {
    return {
      problems: yaml.syntaxProblems.map(({ at, message }) => ({
        file,
        ...at,
        message: `The file ${message}.`,
      })),
    }
  }
  const misread = yaml.misreadNumbers
    // A value of a parameter is a text, and would lose the form that it is written in.
    .filter(({ path }) => path.includes('parameters'))
    .map(({ at, path, message }) => ({ file, ...at, message: `${path.join('.')} ${message}.` }))
  const parsed = shape.safeParse(yaml.fields)
  if (parsed.success && misread.length === 0) return { value: parsed.data, yaml }
  const issues = parsed.success ? [] : parsed.error.issues
  const problems = issues.flatMap((issue) => {
    const unknown = issue.code === 'unrecognized_keys' ? issue.keys : undefined
    const paths = unknown ? unknown.map((key) => [...issue.path, key]) : [issue.path]
    return paths.map((path) => ({
      file,
      ...yaml.positionOf(path),
      message: `${told(path)} ${unknown ? 'is no field that is known here' : messageOf(issue, yaml.fields)}.`,
    }))
  })
  return { problems: inOrder([...problems, ...misread]) }
}

/** As people count: tests[0] is the first one. */
function told(path: readonly PropertyKey[]): string {
  return path.map((step) => (typeof step === 'number' ? `${step + 1}` : String(step))).join('.') || 'The file'
}

function messageOf(issue: z.core.$ZodIssue, fields: unknown): string {
  const message = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message
  if (/^(must|is|cannot)\b/.test(message)) return message
  const value = issue.path.reduce<unknown>((inside, key) => (inside as never)?.[key], fields)
  return value === undefined ? 'is missing' : `does not fit: ${message}`
}
