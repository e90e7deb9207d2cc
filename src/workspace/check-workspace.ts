import { isDeepStrictEqual } from 'node:util'
import { createTwoFilesPatch } from 'diff'
import type { ErrorBody } from '../core/base/errors.ts'
import {
  declareAdvice,
  type FileProblem,
  type FileWarning,
  sortProblems,
} from '../core/base/files/file-problem.ts'
import { OperatorError } from '../core/base/operator-error.ts'
import { packageFile } from '../core/base/package-file.ts'
import { type DefinitionFields, type Finding, type KindForm, usedBy } from '../core/definitions/kind.ts'
import type { DeployedDefinition } from '../core/definitions/step.ts'
import type { EndpointDefinition } from '../core/endpoints/definition/definition.ts'
import { readDefinitions } from '../core/endpoints/definition/definition-file.ts'
import { allKinds } from '../kinds.ts'
import type { ServiceResponse, TemporaryService } from './temporary-service.ts'
import type { EndpointTest } from './test-file.ts'
import type { DefinitionFile, Workspace } from './workspace.ts'

/** Definitions of all kinds, or what a deployment did to them. */
export type ByKind<T> = Record<string, T[]>

/** Finds everything that a service would reject. */
export async function checkWorkspace(workspace: Workspace, service: TemporaryService) {
  const { problems, deployed } = await deployFiles(workspace, service, { dry_run: true })
  const warnings = workspace.definitions.flatMap((file) => warningsOf(file, deployed[file.kind.folder] ?? []))
  return { problems: sortProblems([...workspace.problems, ...problems]), warnings: sortProblems(warnings) }
}

/** Shipped endpoints that definitions use, and that have no file. Every service has them. */
export function usedShipped({ definitions }: Pick<Workspace, 'definitions'>): EndpointDefinition[] {
  const used = new Set(definitions.flatMap(({ kind, fields }) => usedBy(kind, fields)))
  const own = definitions.flatMap(({ kind, fields }) =>
    kind.name === 'endpoint' ? [fields.name, fields.id] : [],
  )
  return readDefinitions(packageFile('shipped/endpoints')).filter(
    ({ id, name }) =>
      [id, name].some((reference) => used.has(`endpoints/${reference}`)) &&
      ![id, name].some((reference) => own.includes(reference)),
  )
}

/** Deploys what the service accepts, and reports the rest. What needs a rejected definition is left out. */
async function deployFiles(
  { definitions, problems: unreadable }: Pick<Workspace, 'definitions' | 'problems'>,
  service: TemporaryService,
  terms: { dry_run?: boolean; fieldsOf?: (file: DefinitionFile) => DefinitionFields },
): Promise<{ problems: FileProblem[]; deployed: ByKind<DeployedDefinition> }> {
  const { fieldsOf = offline, ...rest } = terms
  const rejected = new Set(unreadable.map(({ file }) => file.replace(/\.\w+$/, '')))
  const problems: FileProblem[] = []
  for (let files = definitions; ; ) {
    files = files.filter((file) => {
      const isUsable =
        !rejected.has(nameOf(file)) && !usedBy(file.kind, file.fields).some((name) => rejected.has(name))
      if (!isUsable) rejected.add(nameOf(file))
      return isUsable
    })
    const response = await service.deploy({
      ...byKind(files, fieldsOf),
      ...rest,
    })
    if (!('error' in response)) return { problems, deployed: response.deployed }
    const found = problemOf(files, response.error)
    if (!found) throw new OperatorError(response.error.message)
    problems.push(found)
    rejected.add(response.error.definition ?? '')
  }
}

function offline({ kind, fields, sample }: DefinitionFile): DefinitionFields {
  const tested = sample?.fields ?? fields
  return kind.file.offline?.(tested) ?? tested
}

/** As errors of deployments name it. */
function nameOf({ kind, fields }: Pick<DefinitionFile, 'kind' | 'fields'>): string {
  return `${kind.folder}/${fields.name}`
}

/** As deployments have them. */
export function byKind<Item extends { kind: KindForm }, T>(
  items: readonly Item[],
  make: (item: Item) => T,
): ByKind<T> {
  return Object.fromEntries(
    allKinds().map((kind: KindForm) => [kind.folder, items.filter((item) => item.kind === kind).map(make)]),
  )
}

/** An error of a deployment, at its place. Undefined if it is not about one of the files. */
export function problemOf(files: readonly DefinitionFile[], error: ErrorBody): FileProblem | undefined {
  const found = files.find((file) => nameOf(file) === error.definition)
  if (!found) return undefined
  const prefix = `${found.fields.name}: `
  const message = error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message
  const [, unknown] = /^Unknown source "([a-z][a-z0-9_]*)"/.exec(message) ?? []
  const advice = unknown === undefined ? '' : ` ${declareAdvice(unknown)}`
  // It starts with the kind and the index.
  const parameter = error.parameter?.split('.').slice(2).join('.')
  return { file: found.file, ...found.positionOf({ ...error, parameter }), message: message + advice }
}

export function warningsOf(
  { file, fields, positionOf }: DefinitionFile,
  deployed: readonly { name: string; warnings: readonly Finding[] }[],
): FileWarning[] {
  const found = deployed.find(({ name }) => name === fields.name)?.warnings ?? []
  return sortProblems(
    found.map((warning) => ({ file, ...positionOf(warning), code: warning.code, message: warning.message })),
  )
}

export interface TestOutcome {
  test: EndpointTest
  /** Undefined if the test passed. */
  failure?: string
  /** What a failed test can expect instead. */
  rows?: readonly Row[]
}

/** With what they refer to, and so on. */
export function withUsed<T extends Pick<DefinitionFile, 'kind' | 'fields'>>(
  chosen: readonly T[],
  available: readonly T[],
): T[] {
  const found = new Set(chosen)
  // Grows while it is read.
  for (const { kind, fields } of found) {
    const used = usedBy(kind, fields)
    for (const other of available) if (used.includes(nameOf(other))) found.add(other)
  }
  return [...found]
}

/** Runs tests in sequence. */
export async function runTests(
  workspace: Workspace,
  tests: readonly EndpointTest[],
  service: TemporaryService,
  onOutcome: (outcome: TestOutcome) => void,
): Promise<{ problems: FileProblem[]; outcomes: TestOutcome[] }> {
  const tested = new Set(tests.map(({ endpoint }) => `endpoints/${endpoint}`))
  const chosen = workspace.definitions.filter(
    (file) => file.kind.name === 'source' || tested.has(nameOf(file)),
  )
  const definitions = withUsed(chosen, workspace.definitions)
  const { problems } = await deployFiles({ definitions, problems: [] }, service, { fieldsOf: uncached })
  if (problems.length > 0) return { problems, outcomes: [] }
  await service.load(workspace.fixtures)
  for (const { kind, fields, rows, sample } of definitions) {
    const tested = sample?.rows ?? rows
    if (tested) await service.putRows(kind.folder, fields.name, tested.content)
  }
  const outcomes: TestOutcome[] = []
  for (const test of tests) {
    const outcome = await runTest(test, service)
    outcomes.push(outcome)
    onOutcome(outcome)
  }
  return { problems, outcomes }
}

/** Results depend on the entries alone. */
function uncached({ kind, fields, sample }: DefinitionFile) {
  if (kind.name !== 'endpoint') return sample?.fields ?? fields
  return { ...fields, cache_seconds: null, warm_seconds: null }
}

async function runTest(test: EndpointTest, service: TemporaryService): Promise<TestOutcome> {
  const response = await service.call(test)
  const failure = compareResponse(test, response)
  if (failure === undefined) return { test }
  const hasRows = !wantsError(test) && response.status === 200
  return { test, failure, ...(hasRows && { rows: response.body.result }) }
}

type Expected = Pick<EndpointTest, 'rows' | 'row_count' | 'status' | 'code'>
type Row = Readonly<Record<string, unknown>>

/** Describes how a response differs from the expected one; undefined if it does not. */
export function compareResponse(expected: Expected, { status, body }: ServiceResponse): string | undefined {
  if (status !== 200 || wantsError(expected)) {
    const code: string | undefined = body.error?.code
    const wanted = expected.status ?? (wantsError(expected) ? undefined : 200)
    if ((wanted ?? status) === status && (expected.code ?? code) === code) return undefined
    const got =
      status === 200 ? `200 with ${rowsText(body.result.length)}` : `${status} ${code}: ${body.error.message}`
    return `Expected ${[wanted, expected.code].filter(Boolean).join(' ')}, got ${got}`
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

function wantsError({ code, status = 200 }: Expected): boolean {
  return code !== undefined || status !== 200
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
