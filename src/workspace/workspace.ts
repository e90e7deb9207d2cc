import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { TextPosition } from '../base/yaml-fields.ts'
import { builtInSources } from '../catalog/built-in-sources.ts'
import { type NewSource, newSourceShape } from '../catalog/source.ts'
import type { EndpointDefinition } from '../endpoints/definition/definition.ts'
import { readDefinition } from '../endpoints/definition/definition-file.ts'
import { type FileProblem, readYamlFile, sortProblems } from './file-problem.ts'
import { type FixtureFile, readFixtureFile } from './fixture-file.ts'
import { defaultSet, readTestFile, type TestFile } from './test-file.ts'

/** A directory of endpoint files with their sources, fixtures and tests. */
export interface Workspace {
  directory: string
  endpoints: WorkspaceEndpoint[]
  sources: WorkspaceSource[]
  /** Files of each fixture set, by name. */
  fixtures: ReadonlyMap<string, readonly FixtureFile[]>
  tests: TestFile[]
  /** Unreadable files; all others are loaded anyway. */
  problems: FileProblem[]
}

export interface WorkspaceEndpoint {
  file: string
  content: string
  definition: EndpointDefinition
  /** Start of the SQL. */
  queryAt: TextPosition
}

export interface WorkspaceSource {
  file: string
  source: NewSource
}

const maxFileBytes = 64 * 2 ** 20

export class NotAWorkspace extends Error {}

export function readWorkspace(directory: string): Workspace {
  const files = new WorkspaceFiles(directory)
  if (!files.isDirectory('endpoints')) {
    throw new NotAWorkspace(
      `${directory} is not a workspace: it has no directory "endpoints". Create a workspace with: wellhead init`,
    )
  }
  const sources = readSources(files)
  const known = new Set([
    ...builtInSources.flatMap(({ name, aliases }) => [name, ...aliases]),
    ...sources.flatMap(({ source }) => [source.name, ...source.aliases]),
  ])
  const endpoints = readEndpoints(files)
  const fixtures = readFixtures(files, known)
  const tests = readTests(files, new Set(endpoints.map(({ definition }) => definition.name)), fixtures)
  return { directory, endpoints, sources, fixtures, tests, problems: sortProblems(files.problems) }
}

/** Reads the endpoints of a directory that may not be a workspace yet. */
export function readEndpointFiles(directory: string): Pick<Workspace, 'endpoints' | 'problems'> {
  const files = new WorkspaceFiles(directory)
  return { endpoints: readEndpoints(files), problems: files.problems }
}

/** The files of a directory and their problems. */
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
    if (!this.isDirectory(path)) return []
    return readdirSync(join(this.#directory, path))
      .filter((name) => !name.startsWith('.'))
      .sort()
  }

  /** Reads a file; if that fails, records its problems and returns undefined. */
  read<T extends object>(
    file: string,
    reader: (content: string) => T | { problems: FileProblem[] },
  ): T | undefined {
    const path = join(this.#directory, file)
    let bytes: Buffer
    try {
      if (statSync(path).size > maxFileBytes) {
        this.report(file, `The file is larger than ${maxFileBytes / 2 ** 20} MiB.`)
        return undefined
      }
      bytes = readFileSync(path)
    } catch (error) {
      this.report(file, `Cannot read the file: ${(error as Error).message}.`)
      return undefined
    }
    let content: string
    try {
      content = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    } catch {
      this.report(file, 'The file is not valid UTF-8.')
      return undefined
    }
    const reading = reader(content)
    if (!('problems' in reading)) return reading
    this.problems.push(...reading.problems)
    return undefined
  }

  report(file: string, message: string, at: TextPosition = { line: 1, column: 1 }): void {
    this.problems.push({ file, ...at, message })
  }
}

function readEndpoints(files: WorkspaceFiles): WorkspaceEndpoint[] {
  const endpoints = files.list('endpoints').flatMap((name) => {
    if (!name.endsWith('.sql')) return []
    const file = `endpoints/${name}`
    const found = files.read(file, (content) => {
      const reading = readDefinition(name, content)
      if (!('problems' in reading)) return { file, content, ...reading }
      return {
        problems: reading.problems.map(({ line, column, field, message }) => ({
          file,
          line,
          column,
          message: `${field} ${message}.`,
        })),
      }
    })
    return found ? [found] : []
  })
  const firstOf = new Map<string, string>()
  for (const { file, definition } of endpoints) {
    const first = firstOf.get(definition.id)
    if (first === undefined) firstOf.set(definition.id, file)
    else files.report(file, `id is already used by ${first}. Each endpoint needs its own id.`)
  }
  return endpoints
}

function readSources(files: WorkspaceFiles): WorkspaceSource[] {
  const shape = newSourceShape.omit({ name: true })
  return files.list('sources').flatMap((entry) => {
    if (!/\.ya?ml$/.test(entry)) return []
    const file = `sources/${entry}`
    const name = entry.replace(/\.ya?ml$/, '')
    const named = newSourceShape.shape.name.safeParse(name)
    if (!named.success) {
      files.report(file, `The source name ${named.error.issues[0]?.message ?? 'is invalid'}.`)
      return []
    }
    if (builtInSources.some((source) => source.name === name)) {
      files.report(file, `The source ${name} is built in. Remove this file.`)
      return []
    }
    const found = files.read(file, (content) =>
      readYamlFile(file, isBlank(content) ? '{}' : content, shape, 'description: Orders of the shop.'),
    )
    return found ? [{ file, source: { ...found.value, name } }] : []
  })
}

/** A source file may be empty. */
function isBlank(yaml: string): boolean {
  return yaml.split('\n').every((line) => /^\s*(#|$)/.test(line))
}

/** fixtures/<source>.ndjson belongs to the set "default", fixtures/<set>/<source>.ndjson to another set. */
function readFixtures(files: WorkspaceFiles, sources: ReadonlySet<string>): Map<string, FixtureFile[]> {
  const sets = new Map<string, FixtureFile[]>([[defaultSet, readSet(files, 'fixtures', sources)]])
  for (const name of files.list('fixtures')) {
    const path = `fixtures/${name}`
    if (!files.isDirectory(path)) continue
    if (name === defaultSet)
      files.report(path, `The default set is the files directly in fixtures/. Rename this directory.`)
    else sets.set(name, readSet(files, path, sources))
  }
  return sets
}

function readSet(files: WorkspaceFiles, path: string, sources: ReadonlySet<string>): FixtureFile[] {
  return files.list(path).flatMap((name) => {
    const file = `${path}/${name}`
    if (files.isDirectory(file) || !name.endsWith('.ndjson')) return []
    const source = basename(name, '.ndjson')
    if (!sources.has(source)) {
      files.report(file, `Unknown source "${source}". Declare your own source in sources/${source}.yaml.`)
      return []
    }
    const found = files.read(file, (content) => readFixtureFile(file, source, content))
    return found ? [found] : []
  })
}

function readTests(
  files: WorkspaceFiles,
  endpoints: ReadonlySet<string>,
  fixtures: ReadonlyMap<string, unknown>,
): TestFile[] {
  return files.list('tests').flatMap((name) => {
    if (!/\.ya?ml$/.test(name)) return []
    const file = `tests/${name}`
    const found = files.read(file, (content) => readTestFile(file, content))
    if (!found) return []
    const { tests, yaml } = found
    const endpoint = tests[0]?.endpoint ?? ''
    // An unreadable endpoint is already reported.
    const isUnreadable = files.problems.some((problem) => problem.file === `endpoints/${endpoint}.sql`)
    if (!endpoints.has(endpoint) && !isUnreadable) {
      files.report(file, `endpoints/${endpoint}.sql does not exist.`, yaml.positionOf(['endpoint']))
    }
    for (const { index, fixtures: sets } of tests) {
      for (const set of sets.filter((each) => !fixtures.has(each))) {
        const at = yaml.positionOf(['tests', index, 'fixtures'])
        files.report(file, `The directory fixtures/${set} does not exist.`, at)
      }
    }
    return [found]
  })
}
