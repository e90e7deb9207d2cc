import { isMap, type Node } from 'yaml'
import { z } from 'zod'
import { type FileProblem, readYamlFile } from '../core/base/files/file-problem.ts'
import type { YamlFields } from '../core/base/files/yaml-fields.ts'
import { isoInstant, must, text, valuesText } from '../core/base/validation.ts'
import { parseIsoTimestamp } from '../shared/timestamps.ts'

const instant = isoInstant.refine((value) => (parseIsoTimestamp(value) ?? 0n) % 1000n === 0n, {
  error: 'must not be more precise than a millisecond',
})

const values = z.record(
  text.regex(/^[^_]/, { error: 'must not start with _: such names are reserved' }),
  valuesText,
  must('a map of names to values'),
)

const test = z
  .strictObject(
    {
      name: text.min(1, { error: 'must not be empty' }),
      now: instant.optional(),
      parameters: values.default({}),
      token: z
        .strictObject(
          { project: text.optional(), parameters: values.optional() },
          must('a map of fields, such as { project: abc }'),
        )
        .optional(),
      rows: z
        .array(z.record(z.string(), z.unknown(), must('a map of columns')), must('a list of rows'))
        .optional(),
      row_count: z.int(must('a whole number')).min(0, must('a whole number')).optional(),
      status: z.int(must('a status code such as 400')).min(200).max(599).optional(),
      code: text.optional(),
    },
    must('a map of fields'),
  )
  .refine(({ rows, row_count }) => rows === undefined || row_count === undefined, {
    path: ['row_count'],
    error: 'cannot be combined with rows',
  })
  .refine(
    ({ rows, row_count, status, code }) =>
      (rows ?? row_count) === undefined || (code === undefined && (status ?? 200) === 200),
    { path: ['rows'], error: 'cannot be combined with an expected error' },
  )

const testFile = z
  .strictObject({
    endpoint: text,
    now: instant.optional(),
    tests: z.array(test, must('a list of tests')).min(1, { error: 'must have at least one test' }),
  })
  .superRefine(({ now, tests }, context) => {
    for (const [index, one] of tests.entries()) {
      const problem = (field: string, message: string) =>
        context.addIssue({ code: 'custom', message, path: ['tests', index, field] })
      if ((one.now ?? now) === undefined) {
        problem('now', 'is missing: set it here or for the whole file')
      }
      if (tests.findIndex(({ name }) => name === one.name) < index) problem('name', 'is used twice')
    }
  })

export interface EndpointTest extends z.output<typeof test> {
  file: string
  line: number
  column: number
  index: number
  endpoint: string
  nowMs: number
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
  const tests = value.tests.map((one, index) => ({
    ...one,
    file,
    ...yaml.positionOf(['tests', index, 'name']),
    index,
    endpoint: value.endpoint,
    nowMs: Number((parseIsoTimestamp(one.now ?? value.now ?? '') ?? 0n) / 1000n),
  }))
  return { file, tests, yaml }
}

/** The file's text with new expected rows. Keeps comments and order. */
export function updateRows(
  { yaml, tests }: TestFile,
  text: string,
  updates: readonly { index: number; rows: readonly Record<string, unknown>[] }[],
): string {
  const { document } = yaml
  for (const { index, rows } of updates) {
    const path = ['tests', index]
    if (tests[index]?.row_count !== undefined) {
      document.setIn([...path, 'row_count'], rows.length)
      continue
    }
    // One line per row.
    const node = document.createNode(rows) as Node & { items: Node[]; flow?: boolean }
    if (rows.length === 0) node.flow = true
    for (const row of node.items) if (isMap(row)) row.flow = true
    const before = document.getIn([...path, 'rows'], true) as Node | undefined
    if (before?.commentBefore) node.commentBefore = before.commentBefore
    if (before?.comment) node.comment = before.comment
    const test = document.getIn(path, true)
    const pair = isMap(test) ? test.items.find(({ key }) => String(key) === 'rows') : undefined
    // Setting the pair's value keeps the comments of its key.
    if (pair) pair.value = node
    else document.setIn([...path, 'rows'], node)
  }
  // Keeps list items at the indentation of their key if the file has them there.
  const lines = text.split('\n')
  const below = lines.slice(lines.findIndex((line) => line.startsWith('tests:')) + 1)
  const indentSeq = !below.find((line) => !/^\s*(?:#|$)/.test(line))?.startsWith('- ')
  return document.toString({ lineWidth: 0, indentSeq })
}
