import { isDeepStrictEqual } from 'node:util'
import { createTwoFilesPatch } from 'diff'
import { grouped } from '../base/grouped.ts'
import { deployFiles } from './check-workspace.ts'
import type { FileProblem } from './file-problem.ts'
import { endpointFiles, sourceFiles } from './kinds/file-kinds.ts'
import type { ServiceResponse, TemporaryService } from './temporary-service.ts'
import type { EndpointTest } from './test-file.ts'
import type { DefinitionFile, Workspace } from './workspace.ts'

export type TestOutcome =
  | { test: EndpointTest; kind: 'passed' }
  | { test: EndpointTest; kind: 'failed'; message: string; rows?: readonly Record<string, unknown>[] }

/** Runs tests in sequence, grouped by fixtures so that each group loads them once. */
export async function runTests(
  workspace: Workspace,
  tests: readonly EndpointTest[],
  service: TemporaryService,
  onOutcome: (outcome: TestOutcome) => void,
): Promise<{ problems: FileProblem[]; outcomes: TestOutcome[] }> {
  const tested = new Set(tests.map(({ endpoint }) => endpoint))
  const definitions = workspace.definitions.filter(
    ({ kind, fields }) => kind === sourceFiles || (kind === endpointFiles && tested.has(fields.name)),
  )
  const { problems } = await deployFiles({ definitions, problems: [] }, service, { fieldsOf: uncached })
  if (problems.length > 0) return { problems, outcomes: [] }
  const outcomes: TestOutcome[] = []
  for (const group of grouped(tests, ({ fixtures }) => JSON.stringify(fixtures)).values()) {
    const sets = group[0]?.fixtures ?? []
    await service.load(sets.flatMap((set) => workspace.fixtures.get(set) ?? []))
    for (const test of group) {
      const outcome = await runTest(test, service)
      outcomes.push(outcome)
      onOutcome(outcome)
    }
  }
  return { problems, outcomes }
}

/** Results depend on the entries alone. */
function uncached({ kind, fields }: DefinitionFile) {
  return kind === endpointFiles
    ? { ...fields, cache_seconds: null, warm_seconds: null, incremental: null }
    : fields
}

async function runTest(test: EndpointTest, service: TemporaryService): Promise<TestOutcome> {
  const response = await service.call(test)
  const message = compareResponse(test, response)
  if (message === undefined) return { test, kind: 'passed' }
  const { rows, code, status } = test
  const wantsRows = rows !== undefined || (code === undefined && (status ?? 200) === 200)
  const updatable = wantsRows && response.status === 200
  return { test, kind: 'failed', message, ...(updatable && { rows: response.body.result }) }
}

type Expected = Pick<EndpointTest, 'rows' | 'row_count' | 'status' | 'code'>
type Row = Readonly<Record<string, unknown>>

/** Describes how a response differs from the expected one; undefined if it does not. */
export function compareResponse(expected: Expected, { status, body }: ServiceResponse): string | undefined {
  const code: string | undefined = body.error?.code
  const wantsError = expected.code !== undefined || (expected.status ?? 200) !== 200
  if (status !== 200 || wantsError) {
    const matches =
      wantsError &&
      (expected.status ?? status) === status &&
      (expected.code ?? code) === code &&
      status >= 400
    if (matches) return undefined
    const wanted = [expected.status ?? (wantsError ? undefined : 200), expected.code]
    const got =
      status === 200 ? `200 with ${rowsText(body.result.length)}` : `${status} ${code}: ${body.error.message}`
    return `Expected ${wanted.filter(Boolean).join(' ')}, got ${got}`
  }
  const rows: Row[] = body.result
  if (expected.row_count !== undefined) {
    return rows.length === expected.row_count
      ? undefined
      : `Expected ${rowsText(expected.row_count)}, got ${rows.length}`
  }
  if (expected.rows === undefined) {
    return expected.status === 200
      ? undefined
      : `No rows are expected yet; got ${rowsText(rows.length)}. Save them with wellhead test --update`
  }
  return isDeepStrictEqual(plain(expected.rows), plain(rows)) ? undefined : diffRows(expected.rows, rows)
}

function rowsText(count: number): string {
  return `${count} row${count === 1 ? '' : 's'}`
}

function plain(rows: readonly Row[]): unknown {
  return JSON.parse(JSON.stringify(rows))
}

const maxShownLines = 200

function diffRows(expected: readonly Row[], rows: readonly Row[]): string {
  const columns = Object.keys(rows[0] ?? {})
  const texts = [expected, rows].map((each) => each.map((row) => rowText(row, columns)).join(''))
  const patch = createTwoFilesPatch('expected', 'got', texts[0] ?? '', texts[1] ?? '', '', '', { context: 2 })
  const lines = patch.split('\n').filter((line) => !/^(=====|\\ No newline)/.test(line))
  const shown = lines.slice(0, maxShownLines)
  if (lines.length > shown.length) shown.push(`… and ${lines.length - shown.length} more lines`)
  return `The rows differ\n${shown.join('\n').trimEnd()}`
}

const maxRowWidth = 160

/** One line per row if it fits. Columns are in the order of the response, so that only values differ. */
function rowText(row: Row, columns: readonly string[]): string {
  const shared = columns.filter((column) => Object.hasOwn(row, column))
  const others = Object.keys(row).filter((column) => !columns.includes(column))
  const ordered = Object.fromEntries([...shared, ...others].map((column) => [column, row[column]]))
  const text = JSON.stringify(ordered)
  return `${text.length > maxRowWidth ? JSON.stringify(ordered, null, 2) : text}\n`
}
