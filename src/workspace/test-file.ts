import { z } from 'zod'
import { parseIsoTimestamp } from '../base/timestamps.ts'
import type { YamlFields } from '../base/yaml-fields.ts'
import type { FileProblem } from './file-problem.ts'
import { readYamlFile } from './yaml-file.ts'

function must(be: string) {
  return {
    error: (issue: { input?: unknown }) => (issue.input === undefined ? 'is missing' : `must be ${be}`),
  }
}

const text = z.string(must('text'))

const instant = z
  .string(must('a date and time in ISO 8601, such as 2026-01-02T03:04:05Z'))
  .refine((value) => parseIsoTimestamp(value) !== undefined, {
    error: 'must be a date and time in ISO 8601, such as 2026-01-02T03:04:05Z',
  })
  .refine((value) => (parseIsoTimestamp(value) ?? 0n) % 1000n === 0n, {
    error: 'must not be finer than a millisecond',
  })

const setName = text.regex(/^[A-Za-z][\w-]{0,63}$/, {
  error: 'must begin with a letter and have up to 64 letters, digits, underscores and dashes',
})
const fixtures = z.union([setName.transform((name) => [name]), z.array(setName)], {
  error: 'must be the name of a set of fixtures, or a list of names',
})

const values = z.record(
  text.regex(/^[^_]/, { error: 'must not begin with _: such names are those of the service' }),
  z.union([z.string(), z.number(), z.boolean()], must('text, a number, or true or false')).transform(String),
  must('a list of values by name'),
)

const test = z
  .strictObject(
    {
      name: text.min(1, { error: 'must not be empty' }),
      now: instant.optional(),
      fixtures: fixtures.optional(),
      parameters: values.default({}),
      token: z
        .strictObject(
          { project: text.optional(), parameters: values.optional() },
          must('a list of fields, such as { project: abc }'),
        )
        .optional(),
      rows: z
        .array(z.record(z.string(), z.unknown(), must('a list of columns')), must('a list of rows'))
        .optional(),
      row_count: z.int(must('a whole number')).min(0, must('a whole number')).optional(),
      status: z.int(must('a status such as 400')).min(200).max(599).optional(),
      code: text.optional(),
    },
    must('a list of fields'),
  )
  .refine(({ rows, row_count }) => rows === undefined || row_count === undefined, {
    path: ['row_count'],
    error: 'cannot be given beside rows',
  })
  .refine(
    ({ rows, row_count, status, code }) =>
      (rows ?? row_count) === undefined || (code === undefined && (status ?? 200) === 200),
    { path: ['rows'], error: 'cannot be given where an error is expected' },
  )

const testFile = z
  .strictObject({
    endpoint: text,
    now: instant.optional(),
    fixtures: fixtures.optional(),
    tests: z.array(test, must('a list of tests')).min(1, { error: 'must have at least one test' }),
  })
  .superRefine(({ now, tests }, context) => {
    for (const [index, one] of tests.entries()) {
      const problem = (field: string, message: string) =>
        context.addIssue({ code: 'custom', message, path: ['tests', index, field] })
      if ((one.now ?? now) === undefined) {
        problem('now', 'is missing, here and above: a test has to say what time it is')
      }
      if (tests.findIndex(({ name }) => name === one.name) < index) problem('name', 'is there twice')
    }
  })

/** The fixtures that lie in no directory of their own. */
export const defaultSet = 'default'

export interface EndpointTest {
  file: string
  line: number
  column: number
  /** Its place in the file. */
  index: number
  endpoint: string
  name: string
  nowMs: number
  fixtures: readonly string[]
  parameters: Readonly<Record<string, string>>
  token: { project?: string; parameters?: Record<string, string> } | undefined
  expected: Expected
}

export interface Expected {
  rows: readonly Record<string, unknown>[] | undefined
  rowCount: number | undefined
  status: number | undefined
  code: string | undefined
}

export interface TestFile {
  file: string
  tests: EndpointTest[]
  yaml: YamlFields
}

export function readTestFile(file: string, content: string): TestFile | { problems: FileProblem[] } {
  const reading = readYamlFile(file, content, testFile, 'endpoint: usage.api-counts')
  if ('problems' in reading) return reading
  const { value, yaml } = reading
  const tests = value.tests.map((one, index): EndpointTest => {
    const { project, parameters } = one.token ?? {}
    return {
      file,
      ...yaml.positionOf(['tests', index, 'name']),
      index,
      endpoint: value.endpoint,
      name: one.name,
      nowMs: Number((parseIsoTimestamp(one.now ?? value.now ?? '') ?? 0n) / 1000n),
      fixtures: one.fixtures ?? value.fixtures ?? [defaultSet],
      parameters: one.parameters,
      token: one.token && {
        ...(project !== undefined && { project }),
        ...(parameters !== undefined && { parameters }),
      },
      expected: { rows: one.rows, rowCount: one.row_count, status: one.status, code: one.code },
    }
  })
  return { file, tests, yaml }
}
