import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeDirectory } from '../../core/base/files/data-directory.ts'
import { CommandFailure, type CommandIo } from './command-io.ts'

export async function writeNewFiles(directory: string, files: readonly [string, string][], io: CommandIo) {
  const existing = files.map(([file]) => file).filter((file) => existsSync(join(directory, file)))
  if (existing.length > 0) {
    const exist = existing.length === 1 ? 'exists' : 'exist'
    throw new CommandFailure(`${existing.join(' and ')} already ${exist}; nothing was written.`)
  }
  for (const [file, content] of files) {
    makeDirectory(dirname(join(directory, file)))
    // Never replaces a file, even one that was created in the meantime.
    writeFileSync(join(directory, file), content, { flag: 'wx' })
    await io.stdout.write(`${file}\n`)
  }
}
