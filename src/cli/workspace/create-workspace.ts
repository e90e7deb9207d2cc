import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeDirectory } from '../../base/files/make-directory.ts'
import { newWorkspaceFiles } from '../../workspace/authoring/new-workspace.ts'
import { CommandFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'

export async function createWorkspace(directory: string, shown: string, io: CommandIo): Promise<void> {
  const exists = (file: string) => existsSync(join(directory, file))
  // An existing repository keeps its own README.md and .gitignore.
  const files = Object.entries(newWorkspaceFiles(randomUUID())).filter(
    ([file]) => file.includes('/') || !exists(file),
  )
  const used = [...new Set(files.map(([file]) => file.split('/')[0] as string))].filter(
    (name) => exists(name) && readdirSync(join(directory, name)).length > 0,
  )
  if (used.length > 0) {
    throw new CommandFailure(`${directory} already contains ${used.join(', ')}; nothing was written.`)
  }
  await writeNewFiles(directory, files, io)
  await io.stdout.write(`Try it: ${shown === '.' ? '' : `cd ${shown} && `}wellhead test\n`)
}

export async function writeNewFiles(directory: string, files: readonly [string, string][], io: CommandIo) {
  for (const [file, content] of files) {
    makeDirectory(dirname(join(directory, file)))
    // Never replaces a file, even one that was created in the meantime.
    writeFileSync(join(directory, file), content, { flag: 'wx' })
    await io.stdout.write(`${file}\n`)
  }
}
