import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { TextPosition } from '../base/files/yaml-fields.ts'
import type { FileProblem } from './file-problem.ts'

export type Reading<T> = T | { problems: FileProblem[] }

const maxFileBytes = 64 * 2 ** 20

/** Reads the files of a workspace, and collects the problems of those that are unreadable. */
export class WorkspaceFiles {
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

  /** Reads the files of a directory that match. */
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

  report(file: string, message: string, at: TextPosition = { line: 1, column: 1 }): void {
    this.problems.push({ file, ...at, message })
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
}
