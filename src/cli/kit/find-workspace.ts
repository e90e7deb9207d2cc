import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type CommandIo, usageFailure } from './command-io.ts'

export function findWorkspace(directory: string, io: CommandIo): string {
  const path = resolve(io.cwd, directory)
  if (existsSync(join(path, 'endpoints'))) return path
  throw usageFailure(
    `${path} is not a workspace: it has no directory "endpoints". Create a workspace with: wellhead init`,
  )
}
