import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import writeFileAtomic from 'write-file-atomic'
import { builtInSources } from '../built-in-sources.ts'
import { declareAdvice, type FileProblem, sortProblems } from '../core/base/files/file-problem.ts'
import type { TextPosition } from '../core/base/files/yaml-fields.ts'
import type { NewSource } from '../core/catalog/source.ts'
import type { FileForm, FileReading, KindForm } from '../core/definitions/kind.ts'
import { allKinds } from '../kinds.ts'
import { type FixtureFile, readFixtureFile } from './fixture-file.ts'
import { type ProjectsFile, projectsFileName, readProjectsFile } from './projects-file.ts'
import { readTestFile, type TestFile } from './test-file.ts'

export interface Workspace {
  directory: string
  /** Those first that others refer to. */
  definitions: DefinitionFile[]
  fixtures: FixtureFile[]
  tests: TestFile[]
  /** The plans of projects, if the workspace has them. */
  projects?: ProjectsFile
  /** Unreadable files; all others are loaded anyway. */
  problems: FileProblem[]
  /** All files, readable or not. */
  files: ReadonlySet<string>
  /** The text of a file, with the names of its values. */
  write: WriteFile
}

export type WriteFile = (definition: Pick<DefinitionFile, 'kind' | 'fields'>) => string

export interface DefinitionFile extends FileReading {
  kind: KindForm
  file: string
  /** As tests have it, if the fixtures have rows for it. */
  sample?: FileReading
}

/** `valuesFiles` has files to read in place of those at the top of the workspace, by their nouns. */
export function readWorkspace(
  directory: string,
  valuesFiles: Readonly<Record<string, string>> = {},
): Workspace {
  const files = new WorkspaceFiles(directory)
  const values = readValues(files, valuesFiles)
  const definitions = readDefinitions(files, values)
  const fixtures = readFixtures(files, definitions)
  const tests = readTests(files, definitions)
  const projects = files.readOne(projectsFileName, readProjectsFile)
  return {
    directory,
    definitions,
    fixtures,
    tests,
    ...(projects && { projects }),
    problems: sortProblems(files.problems),
    files: files.seen,
    write: ({ kind, fields }) => {
      const known = values.get(kind.folder)?.values
      return kind.file.write(
        known === undefined ? fields : (kind.file.values?.named(fields, known) ?? fields),
      )
    },
  }
}

interface ReadValues {
  file: string
  /** Undefined if there is no file. */
  values: unknown
}

/** Of each kind with named values, by its folder. A kind whose values are unreadable is absent. */
function readValues(
  files: WorkspaceFiles,
  chosen: Readonly<Record<string, string>>,
): Map<string, ReadValues> {
  return new Map(
    allKinds().flatMap(({ folder, file: { values: form } }: KindForm): [string, ReadValues][] => {
      if (!form) return []
      const path = chosen[form.noun]
      const file = path ?? `${form.noun}.yaml`
      if (path === undefined && !files.exists(file)) return [[folder, { file, values: undefined }]]
      const content = files.read(file)
      const reading = content === undefined ? { problems: [] } : form.read(file, content)
      if (!('problems' in reading)) return [[folder, { file, values: reading.values }]]
      files.problems.push(...reading.problems)
      return []
    }),
  )
}

/** Writes a new id into each file that lacks one, of kinds that have ids in their files. */
export function writeMissingIds(directory: string, newId: () => string): { file: string; id: string }[] {
  const files = new WorkspaceFiles(directory)
  return allKinds().flatMap(({ folder, file: { extension, withId } }) => {
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

function readDefinitions(files: WorkspaceFiles, values: ReadonlyMap<string, ReadValues>): DefinitionFile[] {
  return allKinds().flatMap((kind: KindForm) => {
    const { name: noun, folder, file: form } = kind
    const seen = new Map<string, string>()
    const rows = readRows(files, folder, form)
    const samples = readRows(files, 'fixtures', form)
    const definitions = files.readAll(
      folder,
      form.extension,
      (file, name, content): Reading<DefinitionFile> => {
        const twin = seen.get(name)
        seen.set(name, twin ?? file)
        if (twin !== undefined) {
          const message = `${twin} declares the same ${noun}. Remove one of the files.`
          return { problems: [{ file, line: 1, column: 1, message }] }
        }
        const read = withValues(form, form.read(file, name, content), file, values.get(folder))
        const reading = withRows(form, read, rows.get(name))
        if ('problems' in reading) return reading
        const sample = withRows(form, reading, samples.get(name))
        if (!('problems' in sample)) return { kind, file, ...reading, sample }
        files.problems.push(...sample.problems)
        return { kind, file, ...reading }
      },
    )
    for (const [name, { file }] of [...rows, ...samples]) {
      const missing = `${folder}/${name}${form.suffix}`
      if (!seen.has(name)) files.report(file, `There is no ${missing}. Create it; it can be empty.`)
    }
    reportSharedIds(files, definitions)
    return definitions
  })
}

interface RowsFile {
  file: string
  name: string
  content: string
}

/** Files with rows, by the name of their definition. */
function readRows(files: WorkspaceFiles, folder: string, { rowsExtension }: FileForm): Map<string, RowsFile> {
  if (!rowsExtension) return new Map()
  const found = files.readAll(folder, rowsExtension, (file, name, content) => ({ file, name, content }))
  return new Map(found.map((each) => [each.name, each]))
}

function withValues(
  form: FileForm,
  reading: Reading<FileReading>,
  file: string,
  known: ReadValues | undefined,
): Reading<FileReading> {
  if ('problems' in reading || !form.values) return reading
  // The problems of the values are reported already.
  if (!known) return { problems: [] }
  return form.values.resolve(reading, known.values, { file, valuesFile: known.file })
}

function withRows(form: FileForm, reading: Reading<FileReading>, rows: RowsFile | undefined) {
  if ('problems' in reading || !rows) return reading
  return form.withRows?.(reading, rows.file, rows.content) ?? reading
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

function readFixtures(files: WorkspaceFiles, definitions: readonly DefinitionFile[]): FixtureFile[] {
  const own = definitions.filter(({ kind }) => kind.name === 'source').map(({ fields }) => fields)
  const sources = new Map(
    [...builtInSources, ...(own as unknown as NewSource[])].flatMap((source) =>
      [source.name, ...source.aliases].map((name) => [name, source] as const),
    ),
  )
  for (const entry of files.list('fixtures')) {
    const folder = `fixtures/${entry}`
    if (files.isDirectory(folder))
      files.report(folder, 'Folders of fixtures are not read. Put the files into fixtures.')
  }
  return files.readAll('fixtures', /\.ndjson$/, (file, source, content): Reading<FixtureFile> => {
    const declared = sources.get(source)
    if (declared) return readFixtureFile(file, source, content, declared)
    const message = `Unknown source "${source}". ${declareAdvice(source)}`
    return { problems: [{ file, line: 1, column: 1, message }] }
  })
}

function readTests(files: WorkspaceFiles, definitions: readonly DefinitionFile[]): TestFile[] {
  const tests = files.readAll('tests', /\.ya?ml$/, (file, _name, content) => readTestFile(file, content))
  const endpoints = definitions.filter(({ kind }) => kind.name === 'endpoint')
  // An unreadable endpoint is already reported.
  const known = new Set([...endpoints, ...files.problems].map(({ file }) => file))
  for (const { file, tests: cases, yaml } of tests) {
    const endpoint = `endpoints/${cases[0]?.endpoint}.sql`
    if (!known.has(endpoint)) files.report(file, `${endpoint} does not exist.`, yaml.positionOf(['endpoint']))
  }
  return tests
}

type Reading<T> = T | { problems: FileProblem[] }

const maxFileBytes = 64 * 2 ** 20

/** Reads the files of a workspace, and collects the problems of those that are unreadable. */
class WorkspaceFiles {
  readonly #directory: string
  readonly problems: FileProblem[] = []
  readonly seen = new Set<string>()

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

  exists(path: string): boolean {
    return existsSync(join(this.#directory, path))
  }

  /** Names in a directory, without hidden files; empty if the directory does not exist. */
  list(path: string): string[] {
    const names = this.isDirectory(path) ? readdirSync(join(this.#directory, path)) : []
    return names.filter((name) => !name.startsWith('.')).sort()
  }

  readAll<T extends object>(
    directory: string,
    extension: RegExp,
    reader: (file: string, name: string, content: string) => Reading<T>,
  ): T[] {
    return this.list(directory).flatMap((entry) => {
      const file = `${directory}/${entry}`
      if (!extension.test(entry) || this.isDirectory(file)) return []
      this.seen.add(file)
      const content = this.read(file)
      if (content === undefined) return []
      const reading = reader(file, entry.replace(extension, ''), content)
      if (!('problems' in reading)) return [reading]
      this.problems.push(...reading.problems)
      return []
    })
  }

  /** A file that need not exist. */
  readOne<T extends object>(file: string, reader: (content: string) => Reading<T>): T | undefined {
    if (!this.exists(file)) return undefined
    this.seen.add(file)
    const content = this.read(file)
    const reading = content === undefined ? { problems: [] } : reader(content)
    if (!('problems' in reading)) return reading
    this.problems.push(...reading.problems)
    return undefined
  }

  report(file: string, message: string, at: TextPosition = { line: 1, column: 1 }): void {
    this.problems.push({ file, ...at, message })
  }

  read(file: string): string | undefined {
    // A chosen file can be anywhere.
    const path = resolve(this.#directory, file)
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
}
