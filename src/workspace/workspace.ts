import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import writeFileAtomic from 'write-file-atomic'
import type { z } from 'zod'
import { alertShape } from '../alerts/alert.ts'
import type { TextPosition } from '../base/files/yaml-fields.ts'
import { builtInSources } from '../catalog/built-in-sources.ts'
import { newSourceShape } from '../catalog/source.ts'
import type { EndpointDefinition } from '../endpoints/definition/definition.ts'
import { fieldPosition, readDefinition } from '../endpoints/definition/definition-file.ts'
import { alertFileShape, type WorkspaceAlert } from './alert-file.ts'
import { withId } from './authoring/missing-id.ts'
import { declareAdvice, type FileProblem, readYamlFile, sortProblems } from './file-problem.ts'
import { type FixtureFile, readFixtureFile } from './fixture-file.ts'
import { defaultSet, readTestFile, type TestFile } from './test-file.ts'
import type { WorkspaceSource } from './workspace-sources.ts'

/** A directory of endpoint files with their sources, alerts, fixtures and tests. */
export interface Workspace {
  directory: string
  endpoints: WorkspaceEndpoint[]
  sources: WorkspaceSource[]
  alerts: WorkspaceAlert[]
  fixtures: ReadonlyMap<string, readonly FixtureFile[]>
  tests: TestFile[]
  /** Unreadable files; all others are loaded anyway. */
  problems: FileProblem[]
}

export interface WorkspaceEndpoint {
  file: string
  content: string
  definition: EndpointDefinition
  queryAt: TextPosition
}

const maxFileBytes = 64 * 2 ** 20

export class NotAWorkspace extends Error {}

export function readWorkspace(directory: string): Workspace {
  const files = openFiles(directory)
  const sources = readSources(files)
  const known = new Set([
    ...builtInSources.flatMap(({ name, aliases }) => [name, ...aliases]),
    ...sources.flatMap(({ source }) => [source.name, ...source.aliases]),
  ])
  const endpoints = readEndpoints(files)
  const fixtures = readFixtures(files, known)
  const tests = readTests(files, new Set(endpoints.map(({ definition }) => definition.name)), fixtures)
  return {
    directory,
    endpoints,
    sources,
    alerts: readAlerts(files),
    fixtures,
    tests,
    problems: sortProblems(files.problems),
  }
}

function openFiles(directory: string): WorkspaceFiles {
  const files = new WorkspaceFiles(directory)
  if (files.isDirectory('endpoints')) return files
  throw new NotAWorkspace(
    `${directory} is not a workspace: it has no directory "endpoints". Create a workspace with: wellhead init`,
  )
}

/** Writes a new id into each endpoint file that lacks one. */
export function writeMissingIds(directory: string, newId: () => string) {
  return openFiles(directory).readAll<{ file: string; id: string }>('endpoints', /\.sql$/, (file) => {
    const path = join(directory, file)
    const id = newId()
    // Unlike the content that is checked, this keeps a byte order mark.
    const changed = withId(readFileSync(path, 'utf8'), id)
    if (changed === undefined) return { problems: [] }
    writeFileAtomic.sync(path, changed)
    return { file, id }
  })
}

/** Reads what is deployed from a directory that may not be a workspace yet. */
export function readDeployedFiles(
  directory: string,
): Pick<Workspace, 'endpoints' | 'sources' | 'alerts' | 'problems'> {
  const files = new WorkspaceFiles(directory)
  return {
    endpoints: readEndpoints(files),
    sources: readSources(files),
    alerts: readAlerts(files),
    problems: files.problems,
  }
}

type Reading<T> = T | { problems: FileProblem[] }

class WorkspaceFiles {
  readonly #directory: string
  readonly problems: FileProblem[] = []

  constructor(directory: string) {
    this.#directory = directory
  }

  isDirectory(path: string): boolean {
    try {
      return statSync(join(this.#directory, path)).isDirectory()
    } catch (error) {
      if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
      throw error
    }
  }

  /** Names in a directory, without hidden files; empty if the directory does not exist. */
  list(path: string): string[] {
    const names = this.isDirectory(path) ? readdirSync(join(this.#directory, path)) : []
    return names.filter((name) => !name.startsWith('.')).sort()
  }

  /** Reads the files of a directory that match; records the problems of unreadable files. */
  readAll<T extends object>(
    directory: string,
    extension: RegExp,
    reader: (file: string, name: string, content: string) => Reading<T>,
  ): T[] {
    return this.list(directory).flatMap((entry) => {
      const file = `${directory}/${entry}`
      if (!extension.test(entry) || this.isDirectory(file)) return []
      const content = this.#read(file)
      if (content === undefined) return []
      const reading = reader(file, entry.replace(extension, ''), content)
      if (!('problems' in reading)) return [reading]
      this.problems.push(...reading.problems)
      return []
    })
  }

  #read(file: string): string | undefined {
    const path = join(this.#directory, file)
    try {
      const isTooLarge = statSync(path).size > maxFileBytes
      if (!isTooLarge) return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
      this.report(file, `The file is larger than ${maxFileBytes / 2 ** 20} MiB.`)
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      const isInvalid = code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
      this.report(file, isInvalid ? 'The file is not valid UTF-8.' : `Cannot read the file: ${message}.`)
    }
    return undefined
  }

  report(file: string, message: string, at: TextPosition = { line: 1, column: 1 }): void {
    this.problems.push(problemIn(file, message, at))
  }
}

function problemIn(file: string, message: string, at: TextPosition = { line: 1, column: 1 }): FileProblem {
  return { file, ...at, message }
}

function readEndpoints(files: WorkspaceFiles): WorkspaceEndpoint[] {
  const endpoints = files.readAll('endpoints', /\.sql$/, (file, _, content): Reading<WorkspaceEndpoint> => {
    const reading = readDefinition(file, content)
    return 'problems' in reading ? reading : { file, content, ...reading }
  })
  const firstOf = new Map<string, string>()
  for (const { file, content, definition } of endpoints) {
    const first = firstOf.get(definition.id)
    if (first === undefined) firstOf.set(definition.id, file)
    else {
      const advice = 'Remove it, and run wellhead check --fix to write another.'
      files.report(file, `id is already used by ${first}. ${advice}`, fieldPosition(content, ['id']))
    }
  }
  return endpoints
}

function readSources(files: WorkspaceFiles): WorkspaceSource[] {
  const shape = newSourceShape.omit({ name: true })
  return files.readAll('sources', /\.ya?ml$/, (file, name, content): Reading<WorkspaceSource> => {
    const problems = nameProblems(files, file, 'source', newSourceShape.shape.name.safeParse(name))
    if (problems.length > 0) return { problems }
    if (builtInSources.some((source) => source.name === name)) {
      return { problems: [problemIn(file, `The source ${name} is built in. Remove this file.`)] }
    }
    const isBlank = content.split('\n').every((line) => /^\s*(#|$)/.test(line))
    const reading = readYamlFile(file, isBlank ? '{}' : content, shape, 'description: Orders of the shop.')
    return 'problems' in reading ? reading : { file, source: { ...reading.value, name } }
  })
}

function readAlerts(files: WorkspaceFiles): WorkspaceAlert[] {
  return files.readAll('alerts', /\.ya?ml$/, (file, name, content): Reading<WorkspaceAlert> => {
    const problems = nameProblems(files, file, 'alert', alertShape.shape.name.safeParse(name))
    if (problems.length > 0) return { problems }
    const reading = readYamlFile(file, content, alertFileShape, 'endpoint: usage.api-counts')
    if ('problems' in reading) return reading
    return { file, name, fields: reading.value, positionOf: (path) => reading.yaml.positionOf(path) }
  })
}

function nameProblems(
  files: WorkspaceFiles,
  file: string,
  kind: string,
  { error }: { error?: z.ZodError | undefined },
): FileProblem[] {
  if (error) return [problemIn(file, `The ${kind} name ${error.issues[0]?.message ?? 'is invalid'}.`)]
  const twin = file.replace(/\.yml$/, '.yaml')
  const isTwice = twin !== file && files.list(`${kind}s`).some((name) => twin === `${kind}s/${name}`)
  return isTwice ? [problemIn(file, `${twin} declares the same ${kind}. Remove one of the files.`)] : []
}

/** fixtures/<source>.ndjson belongs to the set "default", fixtures/<set>/<source>.ndjson to another set. */
function readFixtures(files: WorkspaceFiles, sources: ReadonlySet<string>): Map<string, FixtureFile[]> {
  const readSet = (directory: string) =>
    files.readAll(directory, /\.ndjson$/, (file, source, content): Reading<FixtureFile> => {
      if (sources.has(source)) return readFixtureFile(file, source, content)
      const message = `Unknown source "${source}". ${declareAdvice(source)}`
      return { problems: [problemIn(file, message)] }
    })
  const sets = new Map([[defaultSet, readSet('fixtures')]])
  for (const name of files.list('fixtures')) {
    const path = `fixtures/${name}`
    if (!files.isDirectory(path)) continue
    if (name !== defaultSet) sets.set(name, readSet(path))
    else files.report(path, 'The default set is the files directly in fixtures/. Rename this directory.')
  }
  return sets
}

function readTests(
  files: WorkspaceFiles,
  endpoints: ReadonlySet<string>,
  fixtures: ReadonlyMap<string, unknown>,
): TestFile[] {
  const tests = files.readAll('tests', /\.ya?ml$/, (file, _name, content) => readTestFile(file, content))
  for (const { file, tests: cases, yaml } of tests) {
    const endpoint = cases[0]?.endpoint ?? ''
    // An unreadable endpoint is already reported.
    const isUnreadable = files.problems.some((problem) => problem.file === `endpoints/${endpoint}.sql`)
    if (!endpoints.has(endpoint) && !isUnreadable) {
      files.report(file, `endpoints/${endpoint}.sql does not exist.`, yaml.positionOf(['endpoint']))
    }
    for (const { index, fixtures: sets } of cases) {
      for (const set of sets.filter((each) => !fixtures.has(each))) {
        const at = yaml.positionOf(['tests', index, 'fixtures'])
        files.report(file, `The directory fixtures/${set} does not exist.`, at)
      }
    }
  }
  return tests
}
