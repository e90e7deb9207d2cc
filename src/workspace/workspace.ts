import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { TextPosition } from '../base/yaml-fields.ts'
import { builtInSources } from '../catalog/built-in-sources.ts'
import { type NewSource, newSourceShape } from '../catalog/source.ts'
import type { EndpointDefinition } from '../endpoints/definition/definition.ts'
import { readDefinition } from '../endpoints/definition/definition-file.ts'
import { type FileProblem, inOrder } from './file-problem.ts'
import { type FixtureFile, readFixtureFile } from './fixture-file.ts'
import { defaultSet, readTestFile, type TestFile } from './test-file.ts'
import { readYamlFile } from './yaml-file.ts'

/** A directory of endpoints, with the sources, fixtures and tests that belong to them. */
export interface Project {
  directory: string
  endpoints: ProjectEndpoint[]
  sources: ProjectSource[]
  /** Files of each set, by its name. */
  fixtures: ReadonlyMap<string, readonly FixtureFile[]>
  tests: TestFile[]
  /** What cannot be read; the rest is there all the same. */
  problems: FileProblem[]
}

export interface ProjectEndpoint {
  file: string
  content: string
  definition: EndpointDefinition
  /** Where the SQL begins. */
  queryAt: TextPosition
}

export interface ProjectSource {
  file: string
  source: NewSource
}

/** Files are read into memory. */
const maxFileBytes = 64 * 2 ** 20

export class NoProject extends Error {}

export function readProject(directory: string): Project {
  const files = new ProjectFiles(directory)
  if (!files.isDirectory('endpoints')) {
    throw new NoProject(`${directory} is no project: it has no directory endpoints. wellhead init makes one.`)
  }
  const sources = readSources(files)
  const known = new Set([
    ...builtInSources.flatMap(({ name, aliases }) => [name, ...aliases]),
    ...sources.flatMap(({ source }) => [source.name, ...source.aliases]),
  ])
  const endpoints = readEndpoints(files)
  const fixtures = readFixtures(files, known)
  const tests = readTests(files, new Set(endpoints.map(({ definition }) => definition.name)), fixtures)
  return { directory, endpoints, sources, fixtures, tests, problems: inOrder(files.problems) }
}

/** The endpoints alone, of a directory that need not be a project yet. */
export function readEndpointFiles(directory: string): Pick<Project, 'endpoints' | 'problems'> {
  const files = new ProjectFiles(directory)
  return { endpoints: readEndpoints(files), problems: files.problems }
}

/** The files of a directory, and what is wrong with them. */
class ProjectFiles {
  readonly #directory: string
  readonly problems: FileProblem[] = []

  constructor(directory: string) {
    this.#directory = directory
  }

  isDirectory(path: string): boolean {
    try {
      return statSync(join(this.#directory, path)).isDirectory()
    } catch (error) {
      // What lies on the way to it may be a file.
      if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
      throw error
    }
  }

  /** Names in a directory, hidden ones left out; none where it is not there. */
  list(path: string): string[] {
    if (!this.isDirectory(path)) return []
    return readdirSync(join(this.#directory, path))
      .filter((name) => !name.startsWith('.'))
      .sort()
  }

  /** What a file is read into, or its problems are kept. */
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
      this.report(file, `The file cannot be read: ${(error as Error).message}.`)
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

function readEndpoints(files: ProjectFiles): ProjectEndpoint[] {
  const endpoints = files.list('endpoints').flatMap((name) => {
    if (!name.endsWith('.sql')) return []
    const file = `endpoints/${name}`
    const found = files.read(file, (content) => {
      const reading = readDefinition(file, content)
      return 'problems' in reading ? reading : { file, content, ...reading }
    })
    return found ? [found] : []
  })
  const firstOf = new Map<string, string>()
  for (const { file, definition } of endpoints) {
    const first = firstOf.get(definition.id)
    if (first === undefined) firstOf.set(definition.id, file)
    else files.report(file, `id is that of ${first}: each endpoint needs one of its own.`)
  }
  return endpoints
}

function readSources(files: ProjectFiles): ProjectSource[] {
  const shape = newSourceShape.omit({ name: true })
  return files.list('sources').flatMap((entry) => {
    if (!/\.ya?ml$/.test(entry)) return []
    const file = `sources/${entry}`
    const name = entry.replace(/\.ya?ml$/, '')
    const named = newSourceShape.shape.name.safeParse(name)
    if (!named.success) {
      files.report(file, `The name of a source ${named.error.issues[0]?.message ?? 'does not fit'}.`)
      return []
    }
    if (builtInSources.some((source) => source.name === name)) {
      files.report(file, `The source ${name} is there in every service, and is not declared.`)
      return []
    }
    const found = files.read(file, (content) =>
      readYamlFile(file, saysNothing(content) ? '{}' : content, shape, 'description: Orders of the shop.'),
    )
    return found ? [{ file, source: { ...found.value, name } }] : []
  })
}

/** A source needs no more than its name. */
function saysNothing(yaml: string): boolean {
  return yaml.split('\n').every((line) => /^\s*(#|$)/.test(line))
}

/** fixtures/<source>.ndjson is the set "default", fixtures/<set>/<source>.ndjson another one. */
function readFixtures(files: ProjectFiles, sources: ReadonlySet<string>): Map<string, FixtureFile[]> {
  const sets = new Map<string, FixtureFile[]>([[defaultSet, readSet(files, 'fixtures', sources)]])
  for (const name of files.list('fixtures')) {
    const path = `fixtures/${name}`
    if (!files.isDirectory(path)) continue
    if (name === defaultSet) files.report(path, `The set ${defaultSet} is what lies in fixtures itself.`)
    else sets.set(name, readSet(files, path, sources))
  }
  return sets
}

function readSet(files: ProjectFiles, path: string, sources: ReadonlySet<string>): FixtureFile[] {
  return files.list(path).flatMap((name) => {
    const file = `${path}/${name}`
    if (files.isDirectory(file) || !name.endsWith('.ndjson')) return []
    const source = basename(name, '.ndjson')
    if (!sources.has(source)) {
      files.report(file, `${source} is no source. One of your own is declared in sources/${source}.yaml.`)
      return []
    }
    const found = files.read(file, (content) => readFixtureFile(file, source, content))
    return found ? [found] : []
  })
}

function readTests(
  files: ProjectFiles,
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
    // One that cannot be read is told already.
    const unread = files.problems.some((problem) => problem.file === `endpoints/${endpoint}.sql`)
    if (!endpoints.has(endpoint) && !unread) {
      files.report(file, `There is no endpoints/${endpoint}.sql.`, yaml.positionOf(['endpoint']))
    }
    for (const { index, fixtures: sets } of tests) {
      for (const set of sets.filter((each) => !fixtures.has(each))) {
        const at = yaml.positionOf(['tests', index, 'fixtures'])
        files.report(file, `There is no directory fixtures/${set}.`, at)
      }
    }
    return [found]
  })
}
