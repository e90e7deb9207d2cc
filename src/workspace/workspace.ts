import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import writeFileAtomic from 'write-file-atomic'
import { builtInSources } from '../catalog/built-in-sources.ts'
import { declareAdvice, type FileProblem, sortProblems } from './file-problem.ts'
import { type FixtureFile, readFixtureFile } from './fixture-file.ts'
import { endpointFiles } from './kinds/endpoint-files.ts'
import type { FileKind, FileReading } from './kinds/file-kind.ts'
import { fileKinds } from './kinds/file-kinds.ts'
import { sourceFiles } from './kinds/source-files.ts'
import { defaultSet, readTestFile, type TestFile } from './test-file.ts'
import { type Reading, WorkspaceFiles } from './workspace-files.ts'

/** A directory of definitions with their fixtures and tests. */
export interface Workspace {
  directory: string
  /** Those first that others refer to. */
  definitions: DefinitionFile[]
  fixtures: ReadonlyMap<string, readonly FixtureFile[]>
  tests: TestFile[]
  /** Unreadable files; all others are loaded anyway. */
  problems: FileProblem[]
}

export interface DefinitionFile extends FileReading {
  kind: FileKind
  file: string
}

export class NotAWorkspace extends Error {}

export function readWorkspace(directory: string): Workspace {
  const files = openFiles(directory)
  const definitions = readDefinitions(files)
  const fixtures = readFixtures(files, definitions)
  const tests = readTests(files, definitions, fixtures)
  return { directory, definitions, fixtures, tests, problems: sortProblems(files.problems) }
}

/** Reads the definitions in a directory that may not be a workspace yet. */
export function readDefinitionFiles(directory: string): Pick<Workspace, 'definitions' | 'problems'> {
  const files = new WorkspaceFiles(directory)
  return { definitions: readDefinitions(files), problems: files.problems }
}

function openFiles(directory: string): WorkspaceFiles {
  const files = new WorkspaceFiles(directory)
  if (files.isDirectory('endpoints')) return files
  throw new NotAWorkspace(
    `${directory} is not a workspace: it has no directory "endpoints". Create a workspace with: wellhead init`,
  )
}

/** Writes a new id into each file that lacks one, of kinds that have ids in their files. */
export function writeMissingIds(directory: string, newId: () => string) {
  const files = openFiles(directory)
  return fileKinds.flatMap(({ folder, extension, withId }) => {
    if (!withId) return []
    return files.readAll<{ file: string; id: string }>(folder, extension, (file) => {
      const path = join(directory, file)
      const id = newId()
      // Unlike the content that is checked, this keeps a byte order mark.
      const changed = withId(readFileSync(path, 'utf8'), id)
      if (changed === undefined) return { problems: [] }
      writeFileAtomic.sync(path, changed)
      return { file, id }
    })
  })
}

function readDefinitions(files: WorkspaceFiles): DefinitionFile[] {
  return fileKinds.flatMap((kind) => {
    const { folder, extension } = kind
    const seen = new Map<string, string>()
    const definitions = files.readAll(folder, extension, (file, name, content): Reading<DefinitionFile> => {
      const twin = seen.get(name)
      seen.set(name, twin ?? file)
      if (twin !== undefined) {
        const message = `${twin} declares the same ${folder.slice(0, -1)}. Remove one of the files.`
        return { problems: [{ file, line: 1, column: 1, message }] }
      }
      const reading = kind.read(file, name, content)
      return 'problems' in reading ? reading : { kind, file, ...reading }
    })
    reportSharedIds(files, definitions)
    return definitions
  })
}

function reportSharedIds(files: WorkspaceFiles, definitions: readonly DefinitionFile[]): void {
  const firstOf = new Map<string, string>()
  for (const { file, fields, positionOf } of definitions) {
    if (fields.id === undefined) continue
    const first = firstOf.get(fields.id)
    if (first === undefined) firstOf.set(fields.id, file)
    else {
      const message = `id is already used by ${first}. Remove it, and run wellhead check --fix to write another.`
      files.report(file, message, positionOf({ code: 'name_taken', message, parameter: 'id' }))
    }
  }
}

/** fixtures/<source>.ndjson belongs to the set "default", fixtures/<set>/<source>.ndjson to another set. */
function readFixtures(files: WorkspaceFiles, definitions: readonly DefinitionFile[]) {
  const own = definitions.filter(({ kind }) => kind === sourceFiles).map(({ fields }) => fields)
  const sources = new Set(
    [...builtInSources, ...own].flatMap(({ name, aliases }) => [name, ...(aliases as string[])]),
  )
  const readSet = (directory: string) =>
    files.readAll(directory, /\.ndjson$/, (file, source, content): Reading<FixtureFile> => {
      if (sources.has(source)) return readFixtureFile(file, source, content)
      const message = `Unknown source "${source}". ${declareAdvice(source)}`
      return { problems: [{ file, line: 1, column: 1, message }] }
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
  definitions: readonly DefinitionFile[],
  fixtures: ReadonlyMap<string, unknown>,
): TestFile[] {
  const tests = files.readAll('tests', /\.ya?ml$/, (file, _name, content) => readTestFile(file, content))
  const endpoints = definitions.filter(({ kind }) => kind === endpointFiles)
  // An unreadable endpoint is already reported.
  const known = new Set([...endpoints, ...files.problems].map(({ file }) => file))
  for (const { file, tests: cases, yaml } of tests) {
    const endpoint = `endpoints/${cases[0]?.endpoint}.sql`
    if (!known.has(endpoint)) files.report(file, `${endpoint} does not exist.`, yaml.positionOf(['endpoint']))
    for (const { index, fixtures: sets } of cases) {
      for (const set of sets.filter((each) => !fixtures.has(each))) {
        const at = yaml.positionOf(['tests', index, 'fixtures'])
        files.report(file, `The directory fixtures/${set} does not exist.`, at)
      }
    }
  }
  return tests
}
